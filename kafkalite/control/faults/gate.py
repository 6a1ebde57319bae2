"""The fault gate: does to a request what the rule book says, on its way to the handler and back.

It stands where dispatch has its gates, around the handlers of those APIs that a rule is for,
and of no others. What comes before the handler is done in the order of the rules: delays,
verbs, holds. Then the request is handled, refused, answered otherwise, or dropped; what comes
after acts on the answer.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

import trio

from kafkalite.control.durations import seconds
from kafkalite.control.faults.amounts import cut_at, delay_seconds, throttle_seconds
from kafkalite.control.faults.book import RuleBook, Step
from kafkalite.control.faults.doing import Doing
from kafkalite.control.faults.holds import Holds
from kafkalite.control.faults.matching import Seen, TopicPlace
from kafkalite.control.faults.partitions import fetch_refusal, put_in, refuse_all, split
from kafkalite.control.faults.passing import Naming, Unnamed
from kafkalite.control.faults.patches import (
    as_another_producer,
    bytes_of,
    copied,
    corrupted,
    message_from,
    patch,
)
from kafkalite.control.faults.refusals import has_partition_errors, partition_refusal, refusal
from kafkalite.control.faults.rule import Action, error_code
from kafkalite.control.problems import Problem
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.names import TopicName, shown_topic
from kafkalite.requests.slices import has_many, in_slices, in_slices_of_task
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.codec import encode_response
from kafkalite.wire.rows import message_in_steps, message_of_row, row_of, rows_in_steps
from kafkalite.wire.schema import fields_of

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.wire.errors import ErrorCode

# Begins a verb of the control plane by its name with its arguments.
BeginVerb = Callable[[str, dict[str, Any]], Doing]
# The partitions, by topic id or name, that a Fetch asks for by its session: by its node and id.
Fetching = Callable[[int, int], Iterable[tuple[str | UUID, int]]]


class FaultGate:
    """The gate of one cluster."""

    def __init__(
        self,
        book: RuleBook,
        holds: Holds,
        *,
        topic_name: TopicName,
        topic_id: Callable[[str], UUID],
        fetching: Fetching,
        begin_verb: BeginVerb,
    ) -> None:
        self._book = book
        self._holds = holds
        self._topic_name = topic_name
        self._topic_id = topic_id
        self._fetching = fetching
        self._begin_verb = begin_verb

    def concerns(self, api_key: int) -> bool:
        """Tells whether a rule is for requests of this API."""
        return self._book.concerns(api_key)

    def __call__(self, api: Api, handle: Handler) -> Handler:
        """The handler with the gate around it; the handler itself where no rule is for the
        API.
        """
        if not self._book.concerns(api.key):
            return handle

        request_type = request_class(api.key)
        response_type = response_class(api.key)
        naming = Naming(
            request_type,
            in_rows=api.rows,
            topic_name=self._topic_name,
            unnamed=self._of_session(request_type) if api.key is ApiKey.FETCH else None,
        )

        def gated(services: Any, context: Any, request: Any) -> Any:
            if self._book.passes_by(api.key, context, naming, request):
                return handle(services, context, request)
            if api.rows and has_many(request):
                return large(services, context, request)
            body = message_of_row(request_type, request) if api.rows else request
            return decided(services, context, request, body)

        async def large(services: Any, context: Any, request: Any) -> Any:
            body = await in_slices(message_in_steps(request_type, request), context)
            answer = decided(services, context, request, body)
            return await answer if hasattr(answer, "__await__") else answer

        def decided(services: Any, context: Any, request: Any, body: Any) -> Any:
            steps = self._book.steps(self._seen(api.key, context, body))
            if all(step.action.kind == "count" for step in steps):
                return handle(services, context, request)
            context.fault = steps[0].state.rule.id

            async def handled(body: Any) -> Any:
                response = handle(services, context, await rows(body) if api.rows else body)
                if hasattr(response, "__await__"):
                    response = await response
                if response is None:
                    return None
                # Parts of it may be shared with answers to others.
                if api.rows:
                    whole = message_in_steps(response_type, row_of(response))
                    return await in_slices_of_task(whole)
                return copied(response)

            async def rows(message: Any) -> Any:
                return await in_slices_of_task(rows_in_steps(message))

            async def done() -> Any:
                answer = await self._do(api.key, context, body, steps, handled)
                return await rows(answer) if api.rows and answer is not None else answer

            return done()

        return gated

    def _seen(self, key: ApiKey, context: RequestContext, body: Any) -> Seen:
        return Seen(
            key,
            context.api_version,
            body,
            client_id=context.client_id,
            client_software=context.software,
            client_host=context.client_host,
            principal=str(context.principal),
            node=context.node_id,
            listener=context.listener_name,
            connection=context.client_address,
            correlation_id=context.correlation_id,
            topic_name=self._topic_name,
            fetching=lambda: self._in_session(context, body) if key is ApiKey.FETCH else (),
        )

    def _in_session(self, context: RequestContext, body: Any) -> Iterable[TopicPlace]:
        """The partitions that a Fetch is about without naming them."""
        if body.session_epoch <= 0:
            return
        for topic, index in self._fetching(context.node_id, body.session_id):
            yield shown_topic(topic, self._topic_name), index

    def _of_session(self, request_type: type[Any]) -> Unnamed:
        """The topics that a row of a Fetch is about without naming them."""
        names = [each.name for each in fields_of(request_type)]
        id_at, epoch_at = names.index("session_id"), names.index("session_epoch")

        def topics(context: RequestContext, row: Any) -> list[str | UUID]:
            found: list[str | UUID] = []
            if row[epoch_at] > 0:
                for topic, _ in self._fetching(context.node_id, row[id_at]):
                    # Partitions of one topic mostly stand together, with one id.
                    if not found or topic is not found[-1]:
                        found.append(topic)
            return found

        return topics

    async def _do(
        self,
        key: ApiKey,
        context: RequestContext,
        request: Any,
        steps: list[Step],
        handle: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        connection = context.connection
        # From here on anything may be waited for.
        await connection.move_to_task()
        for step in steps:
            if not step.action.is_after:
                await self._before(key, context, request, step, handle)
        answer = await self._answered(key, context, request, steps, handle)
        for step in steps:
            if step.action.is_after:
                answer = await self._after(key, context, request, answer, step)
        return await self._sent(key, context, answer, steps)

    async def _before(
        self,
        key: ApiKey,
        context: RequestContext,
        request: Any,
        step: Step,
        handle: Callable[[Any], Awaitable[Any]],
    ) -> None:
        action = step.action
        match action.kind:
            case "delay" | "uniform" | "lognormal":
                await trio.sleep(delay_seconds(action, step.state.luck))
            case "repeat" if key is ApiKey.PRODUCE:
                again = as_another_producer(request, step.places, self._topic_name)
                for _ in range(cast(int, action.repeat) - 1):
                    await handle(again)
            case _:
                await self._before_or_after(context, step)

    async def _before_or_after(self, context: RequestContext, step: Step) -> None:
        """Do what is the same before the handler and after it, if the action is one of these."""
        action = step.action
        match action.kind:
            case "hold":
                await self._holds.hold(step.state, context.connection)
            case "run":
                await self._run_verb(context, action)
            case "drop":
                raise CloseConnection(f"fault {step.state.rule.id}", reset=action.reset)
            case "silence":
                await self._silence(context, step)
            case _:
                pass

    async def _run_verb(self, context: RequestContext, action: Action) -> None:
        """Do a verb, and wait for it, unless it is beside. Raises what it raises; a request whose
        verb cannot be done is not answered.

        Where it stops the broker, the request goes on, as it is in flight.
        """
        doing = self._begin_verb(cast(str, action.run), action.arguments)
        if action.at != "beside":
            connection = context.connection
            await connection.wait_until(
                doing.is_over, [doing.watchers], math.inf, answer_early=False
            )
            if isinstance(doing.failure, Problem):
                raise CloseConnection(f"{action.run} failed: {doing.failure}")
            if doing.failure is not None:
                raise doing.failure

    async def _silence(self, context: RequestContext, step: Step) -> None:
        connection = context.connection
        context.members.clear()
        context.is_silent = True
        await connection.silence()
        raise CloseConnection(f"fault {step.state.rule.id}: silent until the client hung up")

    async def _answered(
        self,
        key: ApiKey,
        context: RequestContext,
        request: Any,
        steps: list[Step],
        handle: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        """The answer: a refusal, one of the rule's own, or the handler's."""
        for step in steps:
            action = step.action
            if action.answer is not None:
                return message_from(key, context.api_version, action.answer)
            if action.error is not None and not action.apply:
                return await self._refused(key, context, request, step, handle)
        return await handle(request)

    async def _refused(
        self,
        key: ApiKey,
        context: RequestContext,
        request: Any,
        step: Step,
        handle: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        code, message = error_code(cast(str, step.action.error)), step.action.message
        version = context.api_version
        if key is ApiKey.PRODUCE and request.acks == 0:
            raise CloseConnection(f"fault {step.state.rule.id}: {code.name}, and acks=0")
        if not step.error_places or not has_partition_errors(key):
            return refusal(key, version, request, code, message)
        if key is ApiKey.FETCH:
            request = _without_waiting(request)
            return self._in_place(key, version, request, await handle(request), step, code)
        parts = split(key, request, step.places, self._topic_name)
        if parts.refused is None:
            return await handle(request)
        whole = refuse_all(key, version, parts, code, message)
        if whole is not None:
            return whole
        answer = await handle(parts.rest)
        return put_in(key, answer, partition_refusal(key, version, parts.refused, code, message))

    def _in_place(
        self,
        key: ApiKey,
        version: int,
        request: Any,
        answer: Any,
        step: Step,
        code: ErrorCode,
    ) -> Any:
        """The answer with errors in the place of what the handler said of the partitions
        matched.
        """
        if answer is None:
            return None
        message = step.action.message
        if not step.error_places or not has_partition_errors(key):
            return refusal(key, version, request, code, message)
        if key is ApiKey.FETCH:
            return put_in(key, answer, fetch_refusal(step.places, code, self._topic_id, version))
        parts = split(key, request, step.places, self._topic_name)
        if parts.refused is not None:
            refused = partition_refusal(key, version, parts.refused, code, message)
            answer = put_in(key, answer, refused)
        return answer

    async def _after(
        self, key: ApiKey, context: RequestContext, request: Any, answer: Any, step: Step
    ) -> Any:
        action = step.action
        match action.kind:
            case "error":
                code = error_code(cast(str, action.error))
                return self._in_place(key, context.api_version, request, answer, step, code)
            case "patch" if answer is not None:
                patch(answer, cast("dict[str, Any]", action.patch))
            case "corrupt" if answer is not None:
                corrupted(answer, cast(str, action.corrupt))
            case "throttle" if answer is not None and hasattr(answer, "throttle_time_ms"):
                answer.throttle_time_ms = round(throttle_seconds(action) * 1000)
            case _:
                await self._before_or_after(context, step)
        return answer

    async def _sent(
        self, key: ApiKey, context: RequestContext, answer: Any, steps: list[Step]
    ) -> Any:
        """The answer; None if it is sent, or as much of it as is to be."""
        shapes = [step for step in steps if step.action.kind in _SHAPES]
        if not shapes or answer is None:
            return answer
        connection = context.connection
        chunks = encode_response(key, context.api_version, context.correlation_id, answer)
        for step in shapes:
            action = step.action
            if action.cut is not None:
                data = b"".join(map(bytes_of, chunks))
                last_words = data[: cut_at(action.cut, len(data))]
                raise CloseConnection(
                    f"fault {step.state.rule.id}: cut", last_words, reset=action.reset
                )
            if action.dribble is not None:
                data, chunks = b"".join(map(bytes_of, chunks)), []
                size, pause = action.dribble.bytes, seconds(action.dribble.every)
                for start in range(0, len(data), size):
                    await connection.send([data[start : start + size]])
                    await trio.sleep(pause)
        if chunks:
            await connection.send(chunks)
        for step in shapes:
            if step.action.throttle is not None:
                # The answer is sent, then nothing is read for a while, as by a quota (KIP-219).
                await trio.sleep(throttle_seconds(step.action))
        return None


_SHAPES: Final = frozenset({"cut", "dribble", "throttle"})


def _without_waiting(request: Any) -> Any:
    """A Fetch that finds a partition with an error is answered at once."""
    import dataclasses

    return dataclasses.replace(request, max_wait_ms=0)

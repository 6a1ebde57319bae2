"""The command `kafkalite`: flags, signals, and the words on the terminal.

A mistake of the user's (a flag, a config, a port in use) is one sentence on stderr and exit code 2.
What only some calls need is imported by those, which keeps the start short.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkalite import __version__, version_and_build
from kafkalite.config.flags import Parser, a_host, a_path, add_settings, mistake
from kafkalite.config.log_lines import log_to_stderr
from kafkalite.config.ready_file import own_path, remove, write
from kafkalite.config.standard_streams import open_missing, say, written

if TYPE_CHECKING:
    from kafkalite.broker import Broker
    from kafkalite.config import BrokerConfig
    from kafkalite.control.process import ControlledProcess
    from kafkalite.server.start_signals import Start

_DEFAULT_HOST: Final = "127.0.0.1"
_DEFAULT_PORT: Final = 9092


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The flags as given. Exits with code 2 and one sentence when they are wrong."""
    return flags_of_the_broker().parse_args(arguments)


def flags_of_the_broker() -> argparse.ArgumentParser:
    """The flags of the command without a word."""
    parser = Parser(
        prog="kafkalite",
        description="A broker that speaks Kafka's wire protocol.",
        epilog="Configs have Kafka's names. Flags win over KAFKA_* environment variables, those "
        "over the config file. Documentation of each: docs/configs.md. A look into any Kafka: "
        "kafkalite topics, tail, produce, groups, lag: docs/terminal.md. Verbs for a broker with a "
        "control port: kafkalite reset --help, docs/testing.md. Jobs over logs: kafkalite pipeline "
        "--help.",
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", type=a_path, help="a server.properties")
    parser.add_argument("--host", type=a_host, help=f"host to listen on (default {_DEFAULT_HOST})")
    parser.add_argument(
        "--port", type=_port, help=f"port to listen on (default {_DEFAULT_PORT}; 0: any free one)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--data-dir",
        metavar="DIR",
        type=a_path,
        help="where to keep everything (default kafkalite-data)",
    )
    where.add_argument("--temporary", action="store_true", help="in a directory deleted at exit")
    parser.add_argument(
        "--sasl",
        metavar="MECHANISM:USER:PASSWORD",
        action="append",
        default=[],
        help="let clients log in: plain, scram-sha-256, scram-sha-512, oauthbearer (repeatable)",
    )
    parser.add_argument(
        "--tls", metavar="auto", help="TLS, with a CA and certificates made beside the ready file"
    )
    parser.add_argument(
        "--acls", action="store_true", help="enforce ACLs; the first --sasl user may do everything"
    )
    parser.add_argument("--nodes", metavar="N", type=int, help="present N nodes (ids 1 to N)")
    add_settings(parser)
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=a_path,
        help="written when clients can connect (JSON)",
    )
    parser.add_argument(
        "--metrics-port",
        metavar="PORT",
        type=_port,
        help="serve Prometheus metrics at http://HOST:PORT/metrics (0: any free port)",
    )
    _add_testing_flags(parser)
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="log lines for people, or one JSON object each",
    )
    parser.add_argument(
        "--configs",
        action="store_true",
        help="list every config, its value and what is made of it, and exit",
    )
    parser.add_argument("--version", action="version", version=f"kafkalite {version_and_build()}")
    return parser


def _add_testing_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--control-port",
        metavar="PORT",
        type=_port,
        help="take verbs over HTTP: faults, time, state, waiting (0: any free port)",
    )
    parser.add_argument("--as-version", metavar="X.Y", help="look like Apache Kafka 2.8 to 4.3")
    parser.add_argument("--ui", action="store_true", help="serve a page that shows the broker")
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop when the standard input ends: with the program at its other end",
    )
    parser.add_argument(
        "--durable", action="store_true", help="sync temporary data to the disk, as kept data is"
    )
    parser.add_argument("--profile", choices=("test",), help="configs that belong together")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def properties(flags: argparse.Namespace) -> dict[str, str]:
    """The configs that the flags stand for. Raises ConfigError where they make no sense."""
    from kafkalite.config.log_dirs import one_directory

    configs: dict[str, str] = {}
    if flags.profile is not None:
        from kafkalite.config.profiles import profile

        configs |= profile(flags.profile)
    configs |= dict(flags.settings)
    given = {
        "log.dirs": None if flags.data_dir is None else one_directory(flags.data_dir),
        "kafkalite.nodes": flags.nodes,
        "kafkalite.control.port": flags.control_port,
        "kafkalite.ui": "true" if flags.ui else None,
        "kafkalite.durable": "true" if flags.durable else None,
        "kafkalite.as.version": flags.as_version,
        "kafkalite.metrics.port": flags.metrics_port,
    }
    configs |= {name: str(value) for name, value in given.items() if value is not None}
    if _is_secured(flags):
        from kafkalite.security.quick_start import make_files, wanted, with_listener

        asked = wanted(flags.sasl, flags.tls, acls=flags.acls)
        host = _DEFAULT_HOST if flags.host is None else flags.host
        port = _DEFAULT_PORT if flags.port is None else flags.port
        files = make_files(_certificate_directory(flags), host) if asked.tls else None
        configs = with_listener(configs, asked, files, host, port)
    return configs


def _is_secured(flags: argparse.Namespace) -> bool:
    return bool(flags.sasl or flags.tls or flags.acls)


def _certificate_directory(flags: argparse.Namespace) -> Path:
    """The directory that --tls auto writes to: the ready file's, else the data directory."""
    if flags.ready_file is not None:
        return Path(flags.ready_file).absolute().parent
    return Path(flags.data_dir or ".").absolute()


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    open_missing()
    return written(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: list[str]) -> int:
    if "_KAFKALITE_COMPLETE" in os.environ:
        from kafkalite.terminal.words import complete

        return complete(flags_of_the_broker().format_help())
    if arguments and not arguments[0].startswith("-"):
        from kafkalite.terminal.words import run

        return run(arguments)
    flags = parse_arguments(arguments)
    log_to_stderr(flags.log_level.upper(), flags.log_format)
    from kafkalite.server.late_modules import OPENSSL, load_late

    load_late(OPENSSL)
    from kafkalite.config import ConfigError
    from kafkalite.server.host import NoThreadError
    from kafkalite.server.listener import StartError
    from kafkalite.server.start_signals import start_given_up_on_signals

    try:
        if flags.configs:
            return _list_configs(flags)
        with start_given_up_on_signals() as start:
            return _run(flags, start)
    except (ConfigError, NoThreadError, StartError) as error:
        return mistake(error)


def _list_configs(flags: argparse.Namespace) -> int:
    from kafkalite.config.listing import list_configs

    print("\n".join(list_configs(_config_of(flags, properties(flags)))))
    return 0


def _config_of(flags: argparse.Namespace, configs: Mapping[str, str]) -> BrokerConfig:
    from kafkalite.config import BrokerConfig

    sources = flags.config, os.environ, configs, _is_secured(flags)
    return BrokerConfig.from_sources(*sources, host=flags.host, port=flags.port)


def _run(flags: argparse.Namespace, start: Start) -> int:
    import gc

    gc.disable()  # modules and logs stay; `_serve` turns it on
    from kafkalite.broker import Broker
    from kafkalite.config import ConfigError
    from kafkalite.server.host import Host

    _allow_many_files()
    configs = properties(flags)
    clients = _client_settings(flags)
    with ExitStack() as stack:
        if flags.temporary:
            from kafkalite.config.temporary import temporary_directory

            configs["log.dirs"] = str(stack.enter_context(temporary_directory("kafkalite-")))
        ready_files = [path for path in (flags.ready_file, own_path(os.environ)) if path]
        for path in ready_files:
            # One left behind by a kill would announce a broker that is not there yet.
            remove(path)
            stack.callback(remove, path)
        config = _config_of(flags, configs)
        host = Host()
        stack.callback(host.close)
        broker_class = _class_in_a_cluster(config)
        if config.has_control_port:
            if broker_class is not None:
                raise ConfigError("a control port is for clusters of their own (process.roles)")
            from kafkalite.control.process import ControlledProcess

            broker: Broker | ControlledProcess = ControlledProcess(
                config, temporary=flags.temporary, loop=host.loop
            )
        else:
            broker = (broker_class or Broker)(config, loop=host.loop)
        stack.enter_context(broker)
        start.interrupt_no_more()
        host.run(_serve, broker, start, ready_files, clients, flags.until_eof)
    return 0


def _class_in_a_cluster(config: BrokerConfig) -> type[Broker] | None:
    """The broker for a cluster of several processes, if that is asked for. Raises ConfigError."""
    if not config.is_given("process.roles"):
        return None
    from kafkalite.config.quorum import is_broker_only

    if not is_broker_only(config):
        return None
    from kafkalite.quorum_broker import QuorumBroker

    return QuorumBroker


def _client_settings(flags: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The clients' settings in the ready file of a broker secured by --sasl, --tls or --acls."""
    if not _is_secured(flags):
        return {}
    from kafkalite.security.quick_start import client_settings, files_in, wanted

    asked = wanted(flags.sasl, flags.tls, acls=flags.acls)
    return client_settings(asked, files_in(_certificate_directory(flags)) if asked.tls else None)


def _allow_many_files() -> None:
    """Each connection and each segment in use needs a descriptor: take all that we may have."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(
    broker: Broker | ControlledProcess,
    start: Start,
    ready_files: Sequence[Path],
    clients: Mapping[str, Mapping[str, str]],
    until_eof: bool = False,
) -> None:
    import gc

    import trio

    from kafkalite.broker import Broker
    from kafkalite.requests.slices import in_slices_of_task
    from kafkalite.server.collector import freeze_when_grown, short_collections
    from kafkalite.server.listener import StartError
    from kafkalite.server.start_signals import stop_on_signals, taken

    gc.freeze()
    gc.enable()
    failure: StartError | None = None
    with trio.open_signal_receiver(*taken()) as signals, short_collections():
        start.give_up_if_signaled()  # by one that no receiver had, or that was lost
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop_on_signals, signals, broker.stop)
            if until_eof:
                from functools import partial

                from kafkalite.server.end_of_input import stop_at_end_of_input
                from kafkalite.supervision import supervised

                ends = partial(stop_at_end_of_input, broker.stop)
                nursery.start_soon(supervised, "end of input", ends)
            try:
                await nursery.start(broker.serve)
                announce(broker, ready_files, clients)
                freeze_when_grown(broker.services.topics)
            except StartError as error:
                failure = error
                broker.stop()
            # All of this stays: the collector need not look through it again and again.
            gc.freeze()
            await broker.stopped.wait()
            if isinstance(broker, Broker):  # the other has closed its clusters
                await in_slices_of_task(broker.closing())
                failure = failure or broker.failure
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


def announce(
    broker: Broker | ControlledProcess,
    ready_files: Sequence[Path],
    clients: Mapping[str, Mapping[str, str]],
) -> None:
    """Clients can connect: say so. Raises StartError."""
    from kafkalite.server.listener import StartError

    ready = how_to_connect(broker, clients)
    for path in ready_files:
        try:
            write(ready, path)
        except OSError as error:
            raise StartError(f"cannot write the ready file {path}: {error.strerror}") from None
    bound = ",".join(listener.address for listener in broker.listeners)
    told = ",".join(listener.advertised_address for listener in broker.listeners)
    told = "" if told == bound else f", clients connect to {told}"
    say(f"kafkalite {__version__} listens on {bound}{told}")
    if (page_url := getattr(broker, "page_url", None)) is not None:
        say(f"see it at {page_url}")


def how_to_connect(
    broker: Broker | ControlledProcess, clients: Mapping[str, Mapping[str, str]]
) -> dict[str, object]:
    """The content of the ready file."""
    ready: dict[str, object] = {
        "bootstrap": broker.bootstrap,
        "pid": os.getpid(),
        "cluster_id": broker.services.cluster.cluster_id,
        "data_dir": str(broker.data_directory),
        "listeners": {
            listener.name: listener.advertised_address for listener in reversed(broker.listeners)
        },
    }
    if clients:
        ready["clients"] = clients
    if broker.metrics is not None:
        ready["metrics"] = broker.metrics.url
    for name, attribute in (("control", "control"), ("ui", "page_url")):
        if (told := getattr(broker, attribute, None)) is not None:
            ready[name] = told
    return ready


if __name__ == "__main__":
    sys.exit(main())

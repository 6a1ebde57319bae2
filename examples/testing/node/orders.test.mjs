// Problems of people who test with Kafka, solved in Node with nothing but HTTP.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Kafka, logLevel } from "kafkajs";
import { useKafkalite } from "kafkalite";

const k = useKafkalite({ beforeEach, afterEach });
beforeEach(() => k.post("/topics", { topic: "orders" }));

const kafka = () =>
  new Kafka({ brokers: [k.bootstrap], clientId: "app", logLevel: logLevel.NOTHING });

async function place(order, options = { idempotent: true }) {
  const producer = kafka().producer(options);
  await producer.connect();
  await producer.send({ topic: "orders", messages: [{ value: order }] });
  await producer.disconnect();
}

test("produce only when the consumer is assigned", async () => {
  const consumer = kafka().consumer({ groupId: "billing" });
  await consumer.connect();
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  const read = new Promise((done) => {
    consumer.run({ eachMessage: async ({ message }) => done(message.value.toString()) });
  });
  await k.wait({ group: { id: "billing", members: 1, assigned: true } });
  await place("1");
  assert.equal(await read, "1");
  await consumer.disconnect();
});

test("the record was written and the answer was lost", async () => {
  await k.fault({ when: { api: "Produce" }, do: [{ drop: "after" }] });
  await place("1");
  assert.equal((await k.get("/topics/orders/records")).length, 1);
});

test("a transaction times out", async () => {
  const slow = kafka().producer({ transactionalId: "billing-0", maxInFlightRequests: 1, idempotent: true });
  await slow.connect();
  const transaction = await slow.transaction();
  await transaction.send({ topic: "orders", messages: [{ value: "1" }] });
  assert.deepEqual((await k.advance("61s")).aborted, ["billing-0"]);
  assert.equal((await k.get("/transactions/billing-0")).state, "CompleteAbort");
  await slow.disconnect();
});

test("retention loses what was not read", async () => {
  await k.post("/topics/orders/records", { records: [{ value: "old", count: 100 }] });
  await k.advance("8d");
  await k.wait({ not: { records: { topic: "orders" } } });
  assert.equal((await k.get("/topics/orders")).partitions[0].start_offset, 100);
});

test("the same data for many tests", async () => {
  await place("1");
  await k.put("/snapshots/orders-node");
  await k.post("/reset");
  assert.deepEqual(await k.get("/topics"), []);
  await k.post("/restore", { snapshot: "orders-node" });
  assert.equal((await k.get("/topics/orders/records"))[0].value, "1");
});

test("what did my client really send", async () => {
  await k.put("/spy", { mode: "on" });
  await place("1");
  const sent = await k.get("/requests?api=Produce&client_id=app&bodies=true");
  assert.deepEqual(sent.map((each) => each.request.acks), [-1]);
});

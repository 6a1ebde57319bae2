// KafkaJS: `node kafkajs.js BOOTSTRAP PREFIX STEP ...`
const { Kafka, CompressionTypes, logLevel } = require("kafkajs");

const [bootstrap, prefix, ...asked] = process.argv.slice(2);
const kafka = new Kafka({ brokers: bootstrap.split(","), logLevel: logLevel.ERROR });
const SECONDS = 30;

function same(found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

async function producing(options, use) {
  const producer = kafka.producer(options);
  await producer.connect();
  try {
    await use(producer);
  } finally {
    await producer.disconnect();
  }
}

async function consumed(topic, count) {
  const consumer = kafka.consumer({ groupId: `${topic}-group`, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const values = [];
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${values.length} of ${count} came`)), SECONDS * 1000);
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        values.push(message.value.toString());
        if (values.length < count) return;
        await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }]);
        clearTimeout(timer);
        resolve();
      },
    });
  });
  await consumer.disconnect();
  return values;
}

async function produce(codec) {
  const topic = `${prefix}-${codec}`;
  const values = Array.from({ length: 10 }, (_, n) => String(n).repeat(100));
  const compression = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }[codec];
  await producing({}, (producer) =>
    producer.send({ topic, acks: -1, compression, messages: values.map((value) => ({ key: "k", value })) })
  );
  same(await consumed(topic, 10), values);
}

async function group() {
  const topic = `${prefix}-group`;
  for (const value of ["first", "second"]) {
    await producing({}, (producer) => producer.send({ topic, messages: [{ value }] }));
    same(await consumed(topic, 1), [value]);
  }
}

async function transactions() {
  const topic = `${prefix}-transactions`;
  await producing({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 }, async (producer) => {
    for (const [end, value] of [["abort", "no"], ["commit", "yes"]]) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value }] });
      await transaction[end]();
    }
  });
  same(await consumed(topic, 1), ["yes"]);
}

async function main() {
  for (const step of asked) {
    const [name, codec] = step.split(" ");
    try {
      await { produce, group, transactions }[name](codec);
      console.log(`passed: ${step}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`failed: ${step}`);
      console.error(error);
    }
  }
}

main();

// KafkaJS: `node logins.js WAYS`, where WAYS is JSON: see ways.py. Writes a record in each way, and reads it.
const { Kafka, logLevel } = require("kafkajs");

const SECONDS = 60;

function client({ bootstrap, authority, mechanism, user, password, token }) {
  const sasl = {
    OAUTHBEARER: { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: token }) },
  }[mechanism] ?? { mechanism: mechanism?.toLowerCase(), username: user, password };
  return new Kafka({
    brokers: [bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { retries: 2 },
    ssl: authority ? { ca: [authority] } : undefined,
    sasl: mechanism ? sasl : undefined,
  });
}

async function thereAndBack(way) {
  const kafka = client(way);
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: way.topic, messages: [{ value: way.name }] });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: `${way.topic}-group` });
  await consumer.connect();
  await consumer.subscribe({ topic: way.topic, fromBeginning: true });
  const value = await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("no record came")), SECONDS * 1000).unref();
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) });
  });
  await consumer.disconnect();
  if (value !== way.name) throw new Error(`${value} instead of ${way.name}`);
}

async function refused(way) {
  const admin = client(way).admin();
  try {
    await admin.connect();
  } catch (error) {
    const reason = error.originalError ?? error.cause ?? error;
    if (/SASL|[Aa]uthentication/.test(`${reason.name} ${reason.message}`)) return;
    throw error;
  }
  throw new Error("it came in");
}

async function main() {
  for (const way of JSON.parse(process.argv[2])) {
    try {
      await (way.refused ? refused : thereAndBack)(way);
      console.log(`passed: ${way.name}`);
    } catch (error) {
      console.log(`failed: ${way.name}: ${error.name}: ${error.message}`);
    }
  }
  process.exit(0);
}

main();

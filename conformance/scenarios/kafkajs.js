// KafkaJS scenarios: `node kafkajs.js BOOTSTRAP SCENARIO TOPIC`; prints what it saw as JSON.
const { Kafka, CompressionTypes, logLevel } = require("kafkajs");

const [bootstrap, scenario, topic, group] = process.argv.slice(2);
const kafka = new Kafka({ brokers: bootstrap.split(","), logLevel: logLevel.ERROR });

async function withClient(client, use) {
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.disconnect();
  }
}

// Everything a new group reads from the beginning, until there are `count` messages.
async function consumed(count, groupId) {
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 200 });
  return withClient(consumer, async () => {
    await consumer.subscribe({ topic, fromBeginning: true });
    const seen = [];
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, (event) => reject(event.payload.error));
      consumer.run({
        eachMessage: async ({ partition, message }) => {
          seen.push({
            partition,
            offset: message.offset,
            key: message.key && message.key.toString(),
            value: message.value && message.value.toString(),
            headers: Object.fromEntries(
              Object.entries(message.headers).map(([name, value]) => [name, value.toString()])
            ),
          });
          if (seen.length === count) resolve();
        },
      });
    });
    return seen;
  });
}

const scenarios = {
  // A member until SIGTERM, which prints each value it reads: see groups_of_clients.py.
  async member() {
    const consumer = kafka.consumer({ groupId: group, heartbeatInterval: 300 });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommitInterval: 200,
      eachMessage: async ({ message }) => console.log(message.value.toString()),
    });
    await new Promise((resolve) => process.once("SIGTERM", resolve));
    await consumer.disconnect();
    process.exit(0);
  },

  async roundTrip() {
    const messages = [
      { key: "k", value: "plain", headers: { h: "1" } },
      { key: null, value: "no key" },
      { key: "tombstone", value: null },
    ];
    await withClient(kafka.producer(), (producer) =>
      producer.send({ topic, messages, acks: -1 })
    );
    await withClient(kafka.producer({ idempotent: true }), (producer) =>
      producer.send({
        topic,
        compression: CompressionTypes.GZIP,
        messages: Array.from({ length: 100 }, (_, i) => ({ value: `zipped ${i}` })),
      })
    );
    return consumed(103, `${topic}-group`);
  },

  async resume() {
    await withClient(kafka.producer(), (producer) =>
      producer.send({ topic, messages: [{ value: "0" }, { value: "1" }, { value: "2" }] })
    );
    const first = await consumed(3, `${topic}-group`);
    await withClient(kafka.producer(), (producer) =>
      producer.send({ topic, messages: [{ value: "3" }] })
    );
    return [...first, ...(await consumed(1, `${topic}-group`))];
  },

  async admin() {
    return withClient(kafka.admin(), async (admin) => {
      const created = await admin.createTopics({
        topics: [
          {
            topic,
            numPartitions: 2,
            configEntries: [{ name: "retention.ms", value: "12345" }],
          },
        ],
      });
      const again = await admin.createTopics({ topics: [{ topic }] });
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
      await withClient(kafka.producer(), (producer) =>
        producer.send({ topic, messages: [{ partition: 1, value: "v", timestamp: "5000" }] })
      );
      const configs = await admin.describeConfigs({
        resources: [{ type: 2, name: topic, configNames: ["retention.ms"] }],
      });
      const result = {
        created,
        again,
        offsets: (await admin.fetchTopicOffsets(topic)).map((o) => [o.partition, o.low, o.high]),
        atTime: (await admin.fetchTopicOffsetsByTimestamp(topic, 4000)).map((o) => [
          o.partition,
          o.offset,
        ]),
        retention: configs.resources[0].configEntries.map((entry) => entry.configValue),
        brokers: (await admin.describeCluster()).brokers.length,
      };
      await admin.deleteTopics({ topics: [topic] });
      result.left = (await admin.listTopics()).includes(topic);
      return result;
    });
  },

  // Every call that the admin client has is made; what is left over is told.
  async everyAdminCall() {
    const called = new Set();
    const real = kafka.admin();
    const admin = new Proxy(real, {
      get(target, name) {
        called.add(name);
        return target[name];
      },
    });
    await admin.connect();
    const group = `${topic}-group`;
    await admin.createTopics({ topics: [{ topic }], waitForLeaders: true });
    await admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] });
    const settled = async (ask, wanted) => {
      for (let tries = 0; tries < 200; tries++) {
        const seen = await ask();
        if (seen === wanted) return seen;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return ask();
    };
    const metadata = await settled(
      async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length,
      2
    );
    await admin.listTopics();
    await admin.describeCluster();
    await admin.alterConfigs({
      resources: [
        { type: 2, name: topic, configEntries: [{ name: "retention.ms", value: "5000" }] },
      ],
    });
    const retention = await settled(async () => {
      const found = await admin.describeConfigs({
        resources: [{ type: 2, name: topic, configNames: ["retention.ms"] }],
      });
      return found.resources[0].configEntries[0].configValue;
    }, "5000");
    await withClient(kafka.producer(), (producer) =>
      producer.send({ topic, messages: [0, 1, 2].map(() => ({ partition: 0, value: "v" })) })
    );
    await admin.fetchTopicOffsets(topic);
    await admin.fetchTopicOffsetsByTimestamp(topic, 0);
    await admin.setOffsets({
      groupId: group,
      topic,
      partitions: [{ partition: 0, offset: "1" }],
    });
    await admin.resetOffsets({ groupId: group, topic });
    const offsets = (await admin.fetchOffsets({ groupId: group, topics: [topic], resolveOffsets: true }))[0]
      .partitions.filter((found) => found.partition === 0)
      .map((found) => found.offset);
    await admin.listGroups();
    const described = (await admin.describeGroups([group])).groups[0].state;
    await admin.deleteGroups([group]);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "1" }] });
    await admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: [1] }] }],
    });
    await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] });
    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
    const order = ["createAcls", "deleteAcls", "describeAcls", "events", "on", "logger"];
    const missing = Object.keys(real).filter((name) => !called.has(name));
    missing.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    return { missing, metadata, retention, offsets, group: described };
  },
};

scenarios[scenario]().then(
  (seen) => console.log(JSON.stringify(seen)),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);

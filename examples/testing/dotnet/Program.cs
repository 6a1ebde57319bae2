// Problems of people who test with Kafka, solved in .NET with nothing but HTTP.
using System.Net.Http.Headers;
using System.Net.Http.Json;
using System.Text.Json.Nodes;
using Confluent.Kafka;

var ready = JsonNode.Parse(File.ReadAllText(Environment.GetEnvironmentVariable("KAFKALITE_READY_FILE")!))!;
using var http = new HttpClient { BaseAddress = new Uri((string)ready["control"]!["url"]!) };
http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", (string)ready["control"]!["token"]!);

async Task<JsonNode> Ask(HttpMethod method, string path, object? fields = null)
{
    using var request = new HttpRequestMessage(method, "/v1/clusters" + path);
    if (fields is not null) request.Content = JsonContent.Create(fields);
    using var answer = await http.SendAsync(request);
    var told = JsonNode.Parse(await answer.Content.ReadAsStringAsync())!;
    return answer.IsSuccessStatusCode ? told : throw new Exception((string)told["detail"]!);
}

void Check(bool holds, string what)
{
    if (!holds) throw new Exception(what);
}

async Task Place(string bootstrap, string order)
{
    using var producer = new ProducerBuilder<Null, string>(
        new ProducerConfig { BootstrapServers = bootstrap, ClientId = "app", EnableIdempotence = true }).Build();
    await producer.ProduceAsync("orders", new Message<Null, string> { Value = order });
}

async Task<int> Records(string k) => (await Ask(HttpMethod.Get, $"{k}/topics/orders/records")).AsArray().Count;

var tests = new Func<string, string, Task>[]
{
    async (k, bootstrap) => // produce only when the consumer is assigned
    {
        using var consumer = new ConsumerBuilder<Null, string>(
            new ConsumerConfig { BootstrapServers = bootstrap, GroupId = "billing", AutoOffsetReset = AutoOffsetReset.Earliest }).Build();
        consumer.Subscribe("orders");
        var read = Task.Run(() => consumer.Consume(TimeSpan.FromSeconds(30)));
        var group = new { id = "billing", members = 1, assigned = true };
        var waited = await Ask(HttpMethod.Post, $"{k}/wait", new { until = new { group }, timeout = "30s" });
        Check((bool)waited["met"]!, (string?)waited["because"] ?? "");
        await Place(bootstrap, "1");
        Check((await read)?.Message.Value == "1", "the order was not read");
    },
    async (k, bootstrap) => // the record was written and the answer was lost
    {
        await Ask(HttpMethod.Post, $"{k}/faults", new { when = new { api = "Produce" }, @do = new[] { new { drop = "after" } } });
        await Place(bootstrap, "1");
        Check(await Records(k) == 1, "it was not written once");
    },
    async (k, bootstrap) => // a transaction times out
    {
        using var slow = new ProducerBuilder<Null, string>(
            new ProducerConfig { BootstrapServers = bootstrap, TransactionalId = "billing-0" }).Build();
        slow.InitTransactions(TimeSpan.FromSeconds(30));
        slow.BeginTransaction();
        await slow.ProduceAsync("orders", new Message<Null, string> { Value = "1" });
        var done = await Ask(HttpMethod.Post, $"{k}/clock/advance", new { by = "61s" });
        Check((string?)done["aborted"]![0] == "billing-0", "it was not aborted");
    },
    async (k, bootstrap) => // retention loses what was not read
    {
        await Ask(HttpMethod.Post, $"{k}/topics/orders/records", new { records = new[] { new { value = "old", count = 100 } } });
        await Ask(HttpMethod.Post, $"{k}/clock/advance", new { by = "8d" });
        var shown = await Ask(HttpMethod.Get, $"{k}/topics/orders");
        Check((int)shown["partitions"]![0]!["start_offset"]! == 100, "the old records are there");
    },
    async (k, bootstrap) => // the same data for many tests
    {
        await Place(bootstrap, "1");
        await Ask(HttpMethod.Put, $"{k}/snapshots/orders-dotnet", new { });
        await Ask(HttpMethod.Post, $"{k}/reset", new { });
        await Ask(HttpMethod.Post, $"{k}/restore", new { snapshot = "orders-dotnet" });
        Check(await Records(k) == 1, "it is not as it was");
    },
    async (k, bootstrap) => // what did my client really send
    {
        await Ask(HttpMethod.Put, $"{k}/spy", new { mode = "on" });
        await Place(bootstrap, "1");
        var sent = await Ask(HttpMethod.Get, $"{k}/requests?api=Produce&client_id=app&bodies=true");
        Check((int)sent[0]!["request"]!["acks"]! == -1, "it did not ask for all replicas");
    },
};
foreach (var test in tests)
{
    var made = await Ask(HttpMethod.Post, "", new { });
    var k = "/" + (string)made["name"]!;
    await Ask(HttpMethod.Post, $"{k}/topics", new { topic = "orders" });
    await test(k, (string)made["bootstrap"]!);
    await Ask(HttpMethod.Delete, k);
}
Console.WriteLine($"{tests.Length} passed");

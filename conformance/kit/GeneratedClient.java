import java.util.List;
import java.util.Map;
import kit.ApiClient;
import kit.ApiException;
import kit.api.ClockApi;
import kit.api.ClustersApi;
import kit.api.FaultsApi;
import kit.api.RecordsApi;
import kit.api.TopicsApi;
import kit.api.WaitApi;
import kit.model.Action;
import kit.model.Advance;
import kit.model.CreateCluster;
import kit.model.CreateTopic;
import kit.model.NewRecord;
import kit.model.RecordsAre;
import kit.model.Rule;
import kit.model.Until;
import kit.model.Wait;
import kit.model.When;
import kit.model.WriteRecords1;

/** A test's life with the client that a generator makes of the control port's OpenAPI. */
public class GeneratedClient {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
        String name = new ClustersApi(client).clustersCreate(new CreateCluster().name("generated")).getName();

        TopicsApi topics = new TopicsApi(client);
        var topic = topics.topicsCreate(name, new CreateTopic().topic("orders").partitions(2L));
        check(topic.getPartitions().size() == 2, topic);
        try {
            topics.topicsCreate(name, new CreateTopic().topic("orders"));
            throw new AssertionError("orders was made twice");
        } catch (ApiException refused) {
            check(refused.getCode() == 409, refused.getCode());
            check(refused.getResponseBody().contains("\"code\""), refused.getResponseBody());
        }

        RecordsApi records = new RecordsApi(client);
        NewRecord order = new NewRecord().key("a").value("one").partition(1L).headers(Map.of("kind", "test")).count(3L);
        var written = records.recordsWrite(name, "orders", new WriteRecords1().records(List.of(order)));
        check(written.getPlaces().size() == 3, written);
        var read = records.recordsRead(name, "orders", 3L, null, null, null, null, null);
        check(read.size() == 3 && read.get(2).getOffset() == 2 && read.get(2).getValue().equals("one"), read);
        check(read.get(0).getHeaders().equals(Map.of("kind", "test")), read);

        FaultsApi faults = new FaultsApi(client);
        Rule rule = new Rule().id("lost").when(new When().api("Produce").topic("orders"));
        faults.faultsAdd(name, rule.addDoItem(new Action().drop(Action.DropEnum.AFTER)));
        var unfired = faults.faultsUnfired(name);
        check(unfired.getUnfired().size() == 1, unfired);

        WaitApi waits = new WaitApi(client);
        check(waits.wait(name, new Wait().until(atLeast(3)).timeout("10s")).getMet(), "3 records");
        var missing = waits.wait(name, new Wait().until(atLeast(4)).timeout("10ms"));
        check(!missing.getMet() && missing.getBecause().contains("3"), missing);

        var advanced = new ClockApi(client).clockAdvance(name, new Advance().by("46s"));
        check(advanced.getNowMs() - advanced.getFromMs() >= 46_000, advanced);
        new ClustersApi(client).clustersDelete(name);
        check(new ClustersApi(client).clustersList(null, null).stream().noneMatch(each -> each.getName().equals(name)), name);
        System.out.println("passed");
    }

    private static Until atLeast(int count) {
        return new Until().records(new RecordsAre().topic("orders").atLeast((long) count));
    }

    private static void check(boolean holds, Object seen) {
        if (!holds) throw new AssertionError(seen);
    }
}

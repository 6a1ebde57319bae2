/** The fields of a request or an answer, as /v1/openapi.json has them. */
export type Fields = Record<string, any>;

export class Cluster {
  /** "default" until the cluster is made. */
  name: string;
  /** The addresses of the cluster's nodes. */
  bootstrap: string;
  begin(made?: Fields): Promise<void>;
  end(): Promise<void>;
  get(path: string): Promise<any>;
  post(path: string, fields?: Fields): Promise<any>;
  put(path: string, fields?: Fields): Promise<any>;
  fault(rule: { when: Fields; do: Fields[] } & Fields): Promise<any>;
  advance(by: string): Promise<any>;
  wait(until: Fields, timeout?: string): Promise<any>;
  exchange(method: string, path: string, fields?: Fields): Promise<any>;
}

type Hook = (run: () => Promise<void>) => unknown;

/** A cluster for each test between the hooks of a test runner. */
export function useKafkalite(hooks: { beforeEach: Hook; afterEach: Hook }, made?: Fields): Cluster;

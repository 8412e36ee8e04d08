// A namespace of the real API server, a real journal, and the dependencies of activities on both, as of a worker that has just begun.

import { afterAll, beforeAll, beforeEach } from 'vitest'

import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { acquireLease, writeCheckpoint } from '../../activities/journal/write/checkpoints.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { createGroupedJournal } from '../../activities/journal/write/grouped-journal.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { ObjectCache } from '../../activities/kube/object-cache.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { createLogger } from '../../worker/server/log.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { unexpected } from '../activities/journal/unexpected.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { emptyJournal } from '../activities/journal/use-journal.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { Cluster, type LsObject } from '../support/cluster/cluster.ts'
import type { TestServers } from '../support/servers/servers.ts'

const CLUSTER = 'local'

/** Journal and dependencies are new for each test. */
export class ReadStage {
  readonly cluster: Cluster
  /** What the activities have asked the API server for: `GET deployitems`, `GET deployitems/x`. */
  readonly requests: string[] = []
  readonly #kinds: readonly Kind[]
  #deps: LandscaperDeps | undefined

  constructor(cluster: Cluster, kinds: readonly Kind[]) {
    this.cluster = cluster
    this.#kinds = kinds
  }

  get deps(): LandscaperDeps {
    if (this.#deps === undefined) throw new Error('the stage is set up by beforeEach')
    return this.#deps
  }

  begin({ db }: TestDatabase): void {
    const kube = this.#recording(this.cluster.kube)
    this.requests.length = 0
    const now = () => new Date()
    const { route, subjectKinds, modes, controllers } = builtInRegistry
    const routing = { route, subjectKinds, modes, controllers, contentKey: undefined, now }
    const journal = createGroupedJournal({ db, asyncCommitDb: db, report: unexpected }, CLUSTER, routing)
    const inFlightRuns = new InFlightRuns(now)
    const log = createLogger('test', 'silent')
    const parts = { cluster: CLUSTER, kube, db, journal, inFlightRuns, log }
    this.#deps = landscaperDeps({ ...parts, ...routing, objects: new ObjectCache() })
  }

  #recording({ connection }: KubeClient): KubeClient {
    return {
      connection,
      request: async <T>(...[method, path, options]: Parameters<KubeClient['request']>) => {
        this.requests.push(`${method} ${path.replace(/^.*\/namespaces\/[^/]+\//, '')}`)
        return await this.cluster.kube.request<T>(method, path, options)
      },
      stream: (path, signal) => this.cluster.kube.stream(path, signal),
      close: () => this.cluster.kube.close(),
    }
  }

  /** The journal comes to know all that is there of the kinds, as from a bridge that follows them, and that these are not. */
  journal = async (...gone: readonly LsObject[]): Promise<void> => {
    for (const kind of this.#kinds) await this.#follow(kind, gone)
  }

  async #follow(watched: Kind, gone: readonly LsObject[]): Promise<void> {
    const { db, now } = this.deps
    const { group, kind, plural } = watched
    const there = await this.cluster.list(plural)
    const events = [
      ...there.map((object) => ({ watched, object, type: 'MODIFIED' as const })),
      ...gone
        .filter((object) => object['kind'] === kind)
        .map((object) => ({ watched, object, type: 'DELETED' as const })),
    ]
    await journalEvents(db, { cluster: CLUSTER, source: 'watch', events }, this.deps)
    await acquireLease(db, { cluster: CLUSTER, group, kind, owner: 'test', leaseMs: 60_000 })
    const checkpoint = { group, kind, resourceVersion: 1, epoch: 0, leaseOwner: 'test' }
    await db.transaction().execute(async (trx) => {
      await writeCheckpoint(trx, CLUSTER, checkpoint, now())
    })
  }
}

/** Registers the hooks of the calling test file. */
export function useReadStage(namespace: string, kinds: readonly Kind[], servers: TestServers): ReadStage {
  const cluster = new Cluster(servers.kubeconfigPath, namespace)
  const stage = new ReadStage(cluster, kinds)
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase(servers.databaseUrl)
    await cluster.createNamespace()
  })
  beforeEach(async () => {
    await emptyJournal(database.db)
    stage.begin(database)
  })
  afterAll(async () => {
    await cluster.kube.request('DELETE', `/api/v1/namespaces/${namespace}`)
    await cluster.kube.close()
    await database.drop()
  })
  return stage
}

// Fake dependencies of observing activities, over objects in memory: an API server with get and list, and an empty
// journal, so that the activities read everything from the API server.

import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'

import type { Deps } from '../../activities/deps.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import type { Database } from '../../activities/journal/database.ts'
import { createGroupedJournal } from '../../activities/journal/write/grouped-journal.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { ObjectCache } from '../../activities/kube/object-cache.ts'
import type { JobModeController, Kind } from '../../workflows/kit/index.ts'
import { unexpected } from '../activities/journal/unexpected.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'

/** @param kinds the kinds of the objects. @param controllers the controllers that the activities belong to. */
export function listingDeps(
  objects: readonly KubeObject[],
  kinds: readonly Kind[],
  controllers: readonly JobModeController[],
): LandscaperDeps {
  const db = emptyDatabase()
  const now = () => new Date('2030-01-01T00:00:00Z')
  const inFlightRuns = new InFlightRuns(now)
  const route = () => {
    throw new Error('nothing is written here, so nothing is routed')
  }
  const journal = createGroupedJournal({ db, asyncCommitDb: db, report: unexpected }, 'local', {
    route,
    subjectKinds: {},
    modes: {},
    contentKey: undefined,
    now,
  })
  const parts = { cluster: 'local', kube: listingApi(objects, kinds), db, journal, objects: new ObjectCache() }
  const byName = new Map(controllers.map((controller) => [controller.name, controller]))
  return landscaperDeps({ ...parts, now, inFlightRuns, controllers: byName } as unknown as Deps)
}

function listingApi(objects: readonly KubeObject[], kinds: readonly Kind[]): KubeClient {
  const pathOf = (one: KubeObject, name?: string) => {
    const kind = kinds.find((known) => known.kind === one['kind'] && known.apiVersion === one['apiVersion'])
    return kind && resourcePath(kind, one.metadata.namespace, name)
  }
  const answer = (method: string, path: string, labelSelector: string | undefined): object => {
    if (labelSelector !== undefined) {
      const items = objects.filter((one) => pathOf(one) === path && hasLabels(one, labelSelector))
      return { metadata: { resourceVersion: '1' }, items }
    }
    const found = objects.find((one) => pathOf(one, one.metadata.name) === path)
    if (found === undefined) throw new KubeError(`${method} ${path}: 404`, { status: 404, reason: 'NotFound' })
    return found
  }
  const request = async <T>(method: string, path: string, options?: { query?: object }): Promise<T> => {
    const { labelSelector } = (options?.query ?? {}) as { labelSelector?: string }
    return await Promise.resolve(answer(method, path, labelSelector) as T)
  }
  return { request } as unknown as KubeClient
}

/** Whether the object's labels match a selector that consists of equality requirements. */
export function hasLabels({ metadata: { labels = {} } }: KubeObject, selector: string): boolean {
  return selector.split(',').every((pair) => {
    const [key = '', value] = pair.split('=')
    return pair === '' || labels[key] === value
  })
}

/** A database whose queries return no rows. */
function emptyDatabase(): Kysely<Database> {
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

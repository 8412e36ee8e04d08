// A tiny API server, a real journal, and the dependencies of activities on both: for tests of writes in the env project.

import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { LandscaperDeps } from '../../../activities/landscaper/deps.ts'
import { createKubeClient, type KubeClient } from '../../../activities/kube/client.ts'
import { ObjectCache } from '../../../activities/kube/object-cache.ts'
import { createGroupedJournal } from '../../../activities/journal/write/grouped-journal.ts'
import { InFlightRuns } from '../../../activities/run/in-flight-runs.ts'
import { builtInRegistry } from '../../../worker/server/registry.ts'
import { createLogger } from '../../../worker/server/log.ts'
import { unexpected } from '../journal/unexpected.ts'
import { createTestDatabase, type TestDatabase } from '../journal/test-database.ts'
import { emptyJournal } from '../journal/use-journal.ts'
import { landscaperDeps } from '../landscaper/landscaper-deps.ts'
import { TinyApi } from './tiny-api.ts'

export interface WriteStage {
  readonly database: TestDatabase
  readonly api: TinyApi
  readonly deps: LandscaperDeps
}

/** Registers the hooks of the calling test file; the stage is new for each test, its journal empty. */
export function useWriteStage(databaseUrl: string): () => WriteStage {
  let database: TestDatabase
  let kube: KubeClient
  let stage: WriteStage

  beforeAll(async () => {
    database = await createTestDatabase(databaseUrl)
  })
  afterAll(async () => {
    await database.drop()
  })
  beforeEach(async () => {
    await emptyJournal(database.db)
    const api = await TinyApi.start()
    kube = createKubeClient({ kubeconfig: api.kubeconfig })
    const now = () => new Date('2030-01-01T00:00:00Z')
    const log = createLogger('test', 'silent')
    const { db } = database
    const inFlightRuns = new InFlightRuns(now)
    const { route, subjectKinds, modes, hosts, controllers } = builtInRegistry
    const routing = { route, subjectKinds, modes, hosts, controllers, contentKey: undefined, now, inFlightRuns }
    const journal = createGroupedJournal({ db, asyncCommitDb: db, report: unexpected }, 'local', routing)
    const parts = { cluster: 'local', kube, log, db, journal, objects: new ObjectCache() }
    stage = { database, api, deps: landscaperDeps({ ...parts, ...routing }) }
  })
  afterEach(async () => {
    await stage.deps.journal.flushAll()
    await kube.close()
    await stage.api.stop()
  })
  return () => stage
}

// One Execution on a server that the test drives, with a real journal: what the tests of its writes need.

import type { NewJob } from '../../activities/journal/write/jobs.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { Writer } from '../../activities/kube/write.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import type { SettleInput } from '../../workflows/kit/index.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

export const PATH = `/apis/${executionKind.apiVersion}/namespaces/n/executions/exec`
export const WRITER: Writer = {
  workflowID: 'execution/uid-exec/job',
  runID: 'run',
  pass: 1,
  step: 'test',
  fieldManager: 'pawl-execution',
}

export const JOB: NewJob = {
  workflow_id: WRITER.workflowID,
  run_id: WRITER.runID,
  controller: 'execution',
  cluster: 'local',
  uid: 'uid-exec',
  job_id: 'job',
  namespace: 'n',
  name: 'exec',
  cause: 'test',
  started_at: new Date('2030-01-01T00:00:00Z'),
}

export const SETTLE: SettleInput = {
  workflowID: WRITER.workflowID,
  runID: 'run',
  jobID: 'job',
  pass: 1,
  change: undefined,
  againMs: undefined,
  attempt: 0,
  fault: undefined,
  subject: { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' },
  cause: 'test',
}

export const at = { watched: executionKind, namespace: 'n', name: 'exec' }
export const phase = (phase: string) => ({ status: { phase } })

export const execution = (status: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: executionKind.apiVersion,
  kind: 'Execution',
  spec: {},
  status,
  metadata: { name: 'exec', namespace: 'n', uid: 'uid-exec', generation: 1, ...metadata },
})

/** Renewed for each test of the calling file. */
export function useExecutionStage(databaseUrl: string) {
  const current = useWriteStage(databaseUrl)
  const api = () => current().api
  const db = () => current().database.db
  return {
    get api() {
      return api()
    },
    get deps() {
      return current().deps
    },
    get db() {
      return db()
    },
    statusOf: () => api().objects.get(PATH)?.['status'],
    actions: async () => {
      await current().deps.journal.flushAll()
      return await db().selectFrom('action').select(['verb', 'resource_version', 'error']).execute()
    },
    events: async () => {
      await current().deps.journal.flushAll()
      return await db().selectFrom('watch_event').select(['type', 'source', 'writer']).orderBy('seq').execute()
    },
    /** Changes the object just before the next write to it is served, once. */
    race: (object: KubeObject): void => {
      api().intercept = ({ method }) => {
        if (method !== 'GET') {
          api().intercept = () => undefined
          api().put(PATH, object)
        }
        return undefined
      }
    },
  }
}

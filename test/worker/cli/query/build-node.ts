// Builds objects and jobs as the journal returns them, for tests of their output.

import type { JobRecord, ObjectRecord } from '../../../../activities/journal/read/object-queries.ts'
import type { JobNode } from '../../../../worker/cli/query/job-tree.ts'

export const BEGIN = new Date('2026-02-03T04:05:06Z')
export const after = (ms: number): Date => new Date(BEGIN.getTime() + ms)

export function object(kind: string, name: string, projection: ObjectRecord['projection'] = {}): ObjectRecord {
  return {
    group: 'landscaper.gardener.cloud',
    kind,
    uid: `uid-${name}`,
    namespace: 'ns',
    name,
    version: 1,
    deleted: false,
    projection,
    updatedAt: BEGIN,
  }
}

export function job(name: string, more: Partial<JobRecord> = {}): JobRecord {
  return {
    uid: `uid-${name}`,
    workflowID: `run/${name}`,
    controller: 'c',
    jobID: 'j1',
    cause: 'hosted',
    phase: 'Init',
    phases: [{ phase: 'Init', at: BEGIN.toISOString() }],
    outcome: null,
    lastError: null,
    startedAt: BEGIN,
    finishedAt: null,
    ...more,
  }
}

export const node = (of: ObjectRecord, more: Partial<JobNode> = {}): JobNode => ({
  object: of,
  job: undefined,
  awaited: [],
  children: [],
  ...more,
})

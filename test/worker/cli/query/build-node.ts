// Builds objects and jobs as the journal returns them, for tests of their output.

import type { AskedJob, AskedObject } from '../../../../activities/journal/read/asked-objects.ts'
import type { JobNode } from '../../../../worker/cli/query/job-tree.ts'

export const BEGIN = new Date('2026-02-03T04:05:06Z')
export const after = (ms: number): Date => new Date(BEGIN.getTime() + ms)

export function object(kind: string, name: string, projection: AskedObject['projection'] = {}): AskedObject {
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

export function job(name: string, more: Partial<AskedJob> = {}): AskedJob {
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

export const node = (of: AskedObject, more: Partial<JobNode> = {}): JobNode => ({
  object: of,
  job: undefined,
  awaited: [],
  children: [],
  ...more,
})

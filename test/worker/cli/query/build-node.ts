// Builds objects and jobs as the journal returns them, for tests of their output.

import type { EventRecord } from '../../../../activities/journal/read/event-queries.ts'
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

/** What a command knows about a node without events, wakes and live status. */
export const quiet = {
  now: BEGIN,
  wide: false,
  existing: new Set<string>(),
  wake: undefined,
  attempt: 0,
  parentError: undefined,
  status: undefined,
}

/** What `why` knows about a job without history. */
export const nothing = {
  causes: [],
  writes: [],
  passes: undefined,
  newest: undefined,
  foreignWrites: new Map<string, never>(),
  queueSentences: [],
  now: BEGIN,
  wide: false,
}

export const event = (seq: number, more: Partial<EventRecord> = {}): EventRecord => ({
  seq,
  at: after(seq),
  uid: 'u',
  version: seq,
  type: 'MODIFIED',
  source: 'watch',
  writer: null,
  manager: null,
  projection: { status: { phase: 'Init' } },
  outcome: 'wake',
  reason: null,
  ...more,
})

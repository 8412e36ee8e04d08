// Rows of a task's job and wake, for tests of the journal.

import type { NewJob } from '../../../activities/journal/write/jobs.ts'
import type { NewWake } from '../../../activities/journal/write/wakes.ts'
import { NOW } from './build-events.ts'

const PLACE = { controller: 'task', cluster: 'c', uid: 'u1', namespace: 'ns', name: 'n', cause: 'test' }

/** An open job. */
export const job = (overrides: Partial<NewJob> = {}): NewJob => ({
  ...PLACE,
  workflow_id: 'task/u1/j1',
  run_id: 'r1',
  job_id: 'j1',
  started_at: NOW,
  ...overrides,
})

/** A due wake of another writer's event, which may start a run. */
export const newWake = (overrides: Partial<NewWake> = {}): NewWake => ({
  ...PLACE,
  job_id: '',
  seq: 1,
  due: NOW,
  foreign_event: true,
  may_start: true,
  writer: null,
  ...overrides,
})

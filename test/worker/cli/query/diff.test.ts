import { describe, expect, it } from 'vitest'

import type { WriteRecord } from '../../../../activities/journal/read/event-queries.ts'
import { objectAndJobs } from '../../../../worker/cli/query/diff.ts'
import type { VersionChange } from '../../../../worker/cli/query/versions.ts'
import { diffData, diffOf, type JobSide, diffText } from '../../../../worker/cli/query/job-diff.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { after, job, node, object } from './build-node.ts'

const write = (verb: string, name: string, error: WriteRecord['error'] = null): WriteRecord => ({
  pass: 1,
  step: 's',
  object: `DeployItem.g/ns/${name}`,
  verb,
  version: 1,
  error,
  at: after(0),
  answeredAt: null,
})
const end = (phase: string, ms: number, message?: string) => ({
  phase,
  outcome: phase,
  finishedAt: after(ms),
  lastError: message === undefined ? null : { message },
})
const item = (name: string, phase: string, ms: number, message?: string) =>
  node(object('DeployItem', name), { job: job(name, end(phase, ms, message)) })

function side(jobID: string, phase: string, more: Partial<JobSide> & { children: readonly ReturnType<typeof item>[] }) {
  const { children, ...rest } = more
  const own = job('shop', { ...end(phase, 4000), jobID, workflowID: `run/${jobID}`, cause: 'operation reconcile' })
  const tree = node(object('Installation', 'shop'), { job: own, children })
  return { tree, job: own, projections: new Map(), writes: [], passes: 2, ...rest } satisfies JobSide
}

const before = side('j1', 'Succeeded', {
  children: [item('same', 'Succeeded', 900), item('db', 'Succeeded', 1000), item('old', 'Succeeded', 2000)],
  projections: new Map([['uid-db', { metadata: { generation: 1 }, spec: { type: 'a' }, status: { jobID: 'j1' } }]]),
  writes: [write('create', 'db'), write('patch', 'db')],
})
const later = side('j2', 'Failed', {
  children: [item('same', 'Succeeded', 950), item('db', 'Failed', 3000, 'no such image'), item('new', 'Succeeded', 10)],
  projections: new Map([['uid-db', { metadata: { generation: 2 }, spec: { type: 'b' }, status: { jobID: 'j2' } }]]),
  writes: [write('patch', 'db'), write('patch', 'db'), write('patch', 'db', { message: 'no' })],
})
const edit: VersionChange = {
  event: {
    seq: 1,
    at: after(100),
    uid: 'uid-shop',
    version: 7,
    type: 'MODIFIED',
    source: 'watch',
    writer: null,
    projection: {},
    outcome: 'wake',
    reason: null,
  },
  changes: ['metadata.generation: 1 -> 2'],
}
const diff = diffOf(before, later, [edit])

describe('the comparison of two jobs', () => {
  it('shows edits, parts, phases, durations and writes', () => {
    const lines = diffText(diff, plainPaint).split('\n')
    expect(lines.map((line) => line.replace(/ {2,}/g, ' | ').replace(/^ \| /, '  '))).toEqual([
      'Installation ns/shop | j1 | j2',
      'began | 2026-02-03T04:05:06.000Z | 2026-02-03T04:05:06.000Z',
      'because of | operation reconcile | operation reconcile',
      'ended | Succeeded after 4.0s | Failed after 4.0s',
      'writes | 2 in 2 passes | 3 in 2 passes, 1 refused',
      '',
      'Edited between the two beginnings, by others than Pawl:',
      '  2026-02-03T04:05:06.100Z version 7: metadata.generation: 1 -> 2',
      '',
      'PART | BEFORE | AFTER | DURATION | NOTE',
      'Installation ns/shop | Succeeded | Failed | 4.0s -> 4.0s',
      'DeployItem ns/db | Succeeded | Failed | 1.0s -> 3.0s | no such image',
      'DeployItem ns/new | - | Succeeded | - -> 10ms | new in the later job',
      'DeployItem ns/old | Succeeded | - | 2.0s -> - | no part of the later job',
      '1 part ended as before.',
      '',
      'Changed of what the journal keeps:',
      '  DeployItem ns/db: metadata.generation: 1 -> 2',
      '  DeployItem ns/db: spec.type: a -> b',
      '',
      'Written more or less often:',
      '  create DeployItem.g/ns/db: 1 -> 0',
      '  patch DeployItem.g/ns/db: 1 -> 2',
      '  patch DeployItem.g/ns/db, refused: 0 -> 1',
      '',
    ])
  })

  it('has a JSON form', () => {
    expect(diffData(diff)).toMatchObject({
      before: { jobID: 'j1', writes: 2, refused: 0 },
      after: { jobID: 'j2', outcome: 'Failed', refused: 1, passes: 2 },
      between: [{ resourceVersion: 7 }],
    })
  })

  it.each([
    [['inst/shop'], ['inst/shop'], []],
    [['inst', 'shop', 'j1'], ['inst', 'shop'], ['j1']],
    [['inst/shop', 'j1', 'j2'], ['inst/shop'], ['j1', 'j2']],
  ])('parses %j', (words, of, jobs) => {
    expect(objectAndJobs(words)).toEqual([of, jobs])
  })

  it('refuses more than two jobs', () => {
    expect(() => objectAndJobs(['inst/shop', 'a', 'b', 'c'])).toThrow('found 3 jobs (a, b, c), expected an object')
  })
})

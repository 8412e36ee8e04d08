import { describe, expect, it } from 'vitest'

import type { WriteRecord } from '../../../../activities/journal/read/event-queries.ts'
import { objectAndJobs } from '../../../../worker/cli/query/diff.ts'
import type { VersionChange } from '../../../../worker/cli/query/versions.ts'
import { diffData, diffOf, type JobSide, diffText } from '../../../../worker/cli/query/job-diff.ts'
import type { ChangedInput } from '../../../../worker/cli/query/job-inputs.ts'
import { formatTime, plainPaint } from '../../../../worker/cli/query/format.ts'
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
    manager: null,
    projection: {},
    outcome: 'wake',
    reason: null,
  },
  changes: ['metadata.generation: 1 -> 2'],
}
const replicas: ChangedInput = {
  of: 'Installation ns/shop',
  noun: 'import',
  name: 'replicas',
  change: 'changed',
  source: 'ConfigMap sizes, key replicas',
  before: 2,
  after: 3,
}
const by = { manager: 'kubectl-edit', fields: ['spec.blueprint'] }
const diff = diffOf(before, later, { edits: [{ ...edit, by }], inputs: [replicas] })

function linesOf(found: typeof diff, isWide: boolean): readonly string[] {
  const text = diffText(found, { paint: plainPaint, isWide, now: after(0), next: 'pawl replay inst/shop j2' })
  const lines = text.split('\n')
  return lines.map((line) => line.replace(/ {2,}/g, ' | ').replace(/^ \| /, '  '))
}

/** The local time of the first job's start, in the zone of this machine. */
const started = formatTime(after(0), after(0))

describe('the comparison of two jobs', () => {
  it('counts no time after the end of the job, as when an item was edited for the next job', () => {
    const status = { jobID: 'j1', jobIDFinished: 'j1', phase: 'Failed', jobIDGenerationTime: after(100).toISOString() }
    const edited = { ...object('DeployItem', 'db', { status }), updatedAt: after(600_000) }
    const projections = new Map([['uid-db', edited.projection]])
    const { objects } = diffOf(side('j1', 'Failed', { children: [node(edited)], projections }), later, {
      edits: [],
      inputs: [],
    })
    expect(objects.find(({ name }) => name === 'DeployItem ns/db')?.before).toMatchObject({ tookMs: 3900 })
  })

  it('shows the answer, the changed inputs and edits, then parts, phases and durations', () => {
    expect(linesOf(diff, false)).toEqual([
      'Installation ns/shop: Failed, before Succeeded; import "replicas" changed: 2 -> 3; field manager kubectl-edit changed spec.blueprint',
      '',
      'Changed inputs:',
      '  "replicas" (ConfigMap sizes, key replicas): 2 -> 3',
      '',
      'Edits by other clients:',
      `  ${started} by field manager kubectl-edit: spec (generation 1 -> 2); it manages spec.blueprint`,
      '',
      '  BEFORE | AFTER',
      `started | ${started} | ${started}`,
      'cause | operation reconcile | operation reconcile',
      'result | Succeeded after 4.0s | Failed after 4.0s',
      '',
      'PART | BEFORE | AFTER | DURATION | NOTE',
      'Installation ns/shop | Succeeded | Failed | 4.0s -> 4.0s',
      'DeployItem ns/db | Succeeded | Failed | 1.0s -> 3.0s | no such image',
      'DeployItem ns/new | - | Succeeded | - -> 10ms | only in the later job',
      'DeployItem ns/old | Succeeded | - | 2.0s -> - | only in the earlier job',
      '1 part ended as before.',
      '',
      'Changed fields:',
      '  DeployItem ns/db: metadata.generation: 1 -> 2',
      '  DeployItem ns/db: spec.type: a -> b',
      '',
      'next: pawl replay inst/shop j2',
      '',
    ])
  })

  it('adds exact times, job IDs and counts of writes with -o wide', () => {
    expect(linesOf(diff, true)).toEqual(
      expect.arrayContaining([
        '  2026-02-03T04:05:06.100Z version 7 by field manager kubectl-edit: metadata.generation: 1 -> 2; it manages spec.blueprint',
        'job | j1 | j2',
        'started | 2026-02-03T04:05:06.000Z | 2026-02-03T04:05:06.000Z',
        'writes | 2 in 2 passes | 3 in 2 passes, 1 refused',
        'Writes that occurred more or less often:',
        '  create DeployItem.g/ns/db: 1 -> 0',
        '  patch DeployItem.g/ns/db: 1 -> 2',
        '  patch DeployItem.g/ns/db, refused: 0 -> 1',
      ]),
    )
  })

  it('says when which job deleted the object', () => {
    const deleted = side('j3', 'Succeeded', { children: [] })
    const after3 = { ...deleted, job: { ...deleted.job, outcome: 'Deleted' } }
    expect(linesOf(diffOf(later, after3, { edits: [], inputs: [] }), true)[0]).toBe(
      'Installation ns/shop: was deleted at 2026-02-03T04:05:10.000Z by job j3; before Failed',
    )
  })

  const hidden: ChangedInput = { of: 'Installation ns/shop', noun: 'import', name: 'password', change: 'changed' }
  it.each<[string, readonly ChangedInput[] | undefined, string, string?]>([
    [
      'nothing',
      [],
      'the spec has not changed; inputs may have changed, because a job that fails early does not store them',
    ],
    ['a recreated object', undefined, 'the object was recreated between the jobs'],
    ['a hidden value', [hidden], 'import "password" changed', '"password": changed (value hidden)'],
    [
      'a value without the earlier one',
      [{ ...hidden, after: 'x' }],
      'import "password" changed',
      '"password": now x; the earlier value is not stored',
    ],
    [
      'a new input',
      [{ ...hidden, change: 'new', after: { a: 1 } }],
      'import "password" changed',
      '"password": new: {"a":1}',
    ],
    [
      'an input of a part',
      [{ ...hidden, of: 'Installation ns/sub' }],
      'import "password" changed',
      ' of Installation ns/sub: ',
    ],
    [
      'many inputs',
      ['a', 'b', 'c', 'd'].map((name) => ({ ...hidden, name })),
      'imports "a", "b", "c" and 1 more changed',
    ],
  ])('names %s', (_what, inputs, answer, line = '') => {
    const lines = linesOf(diffOf(before, later, { edits: [], inputs }), false)
    expect(lines[0]).toBe(`Installation ns/shop: Failed, before Succeeded; ${answer}`)
    expect(lines.join('\n')).toContain(line)
  })

  it.each([
    [['spec.context', 'spec.imports'], 'field manager helm changed the spec; it manages spec.context, spec.imports'],
    [['metadata.labels'], 'field manager helm changed the spec'],
  ])('does not take the fields %j that a client manages for the changed fields', (fields, answer) => {
    const found = diffOf(before, later, { edits: [{ ...edit, by: { manager: 'helm', fields } }], inputs: [] })
    expect(linesOf(found, false)[0]).toBe(`Installation ns/shop: Failed, before Succeeded; ${answer}`)
  })

  it('reports that nothing has changed if the later job succeeded', () => {
    const good = side('j3', 'Succeeded', { children: [] })
    expect(linesOf(diffOf(before, good, { edits: [], inputs: [] }), false)[0]).toBe(
      'Installation ns/shop: Succeeded in both jobs; neither the spec nor an input has changed',
    )
  })

  it('has a JSON form', () => {
    expect(diffData(diff)).toMatchObject({
      before: { jobID: 'j1', writes: 2, refused: 0 },
      after: { jobID: 'j2', outcome: 'Failed', refused: 1, passes: 2 },
      between: [{ resourceVersion: 7 }],
      inputs: [{ name: 'replicas', before: 2, after: 3 }],
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
    expect(() => objectAndJobs(['inst/shop', 'a', 'b', 'c'])).toThrow('found 3 jobs (a, b, c); give an object')
  })
})

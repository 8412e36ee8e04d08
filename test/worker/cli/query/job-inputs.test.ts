// Which inputs of an Installation changed between two jobs, and their values. The journal is a table of objects and
// events.

import { describe, expect, it } from 'vitest'

import type { EventRecord } from '../../../../activities/journal/read/event-queries.ts'
import type { JournalQueries } from '../../../../activities/journal/read/queries.ts'
import type { Projection } from '../../../../workflows/kit/index.ts'
import { findChangedInputs, withValues } from '../../../../worker/cli/query/job-inputs.ts'
import { after, job, node, object } from './build-node.ts'

const PREFIX = 'data.landscaper.gardener.cloud'
const jobs = ['j1', 'j2', 'j3'].map((jobID, index) =>
  job('shop', { jobID, startedAt: after(1000 * index), finishedAt: after(1000 * index + 500), outcome: 'Succeeded' }),
)
const [first, second, third] = jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]]
const shop = object('Installation', 'shop')

const copyOf = (key: string, jobID: string, annotations: object = {}): Projection => ({
  metadata: {
    labels: { [`${PREFIX}/key`]: key, [`${PREFIX}/jobid`]: jobID, [`${PREFIX}/sourceType`]: 'import' },
    annotations,
  },
})

/** @param writers the jobs that wrote the copy; `-` is its deletion by the next job. */
function copy(key: string, ...writers: readonly string[]) {
  const events = writers.map((jobID, index): EventRecord => ({
    seq: index,
    uid: `uid-${key}`,
    version: index,
    source: 'write',
    writer: 'run',
    manager: null,
    outcome: 'ignored',
    reason: null,
    type: jobID === '-' ? 'DELETED' : 'MODIFIED',
    at: after(1000 * index + 400),
    projection: copyOf(key, jobID === '-' ? (writers[index - 1] ?? '') : jobID),
  }))
  const projection = events.at(-1)?.projection ?? {}
  return { events, row: { ...object('DataObject', key, projection), deleted: writers.at(-1) === '-', owner: shop.uid } }
}

function journalWith(copies: readonly ReturnType<typeof copy>[]): JournalQueries {
  return {
    jobsOf: () => Promise.resolve(jobs),
    childrenOf: () => Promise.resolve(copies.map(({ row }) => row)),
    eventsOf: (uid: string) => Promise.resolve(copies.find(({ row }) => row.uid === uid)?.events ?? []),
  } as Partial<JournalQueries> as JournalQueries
}

const copies = [
  copy('same', 'j1'),
  copy('old', 'j0'),
  copy('changed', 'j1', 'j2'),
  copy('later', 'j1', 'j2', 'j3'),
  copy('removed', 'j1', '-'),
]

describe('the changed inputs between two jobs', () => {
  const changes = async (before: typeof first, later: typeof first) =>
    (await findChangedInputs(journalWith(copies), { before, after: later, tree: node(shop) })).map(
      ({ name, change, jobBefore, jobAfter }) => [name, change, jobBefore, jobAfter],
    )

  it('are the values that another job wrote', async () => {
    expect(await changes(first, second)).toEqual([
      ['changed', 'changed', 'j1', 'j2'],
      ['later', 'changed', 'j1', 'j2'],
      ['removed', 'removed', 'j1', undefined],
    ])
    expect(await changes(second, third)).toEqual([['later', 'changed', 'j2', 'j3']])
  })

  it('include new inputs, and no objects that are no inputs', async () => {
    const plain = { events: [], row: { ...object('DataObject', 'plain'), owner: shop.uid } }
    const found = await findChangedInputs(journalWith([copy('new', 'j2'), plain]), {
      before: first,
      after: second,
      tree: node(shop),
    })
    expect(found.map(({ name, change }) => [name, change])).toEqual([['new', 'new']])
  })

  it.each([
    [
      'the ConfigMap and both values',
      'ConfigMap/sizes/cpu',
      'j1',
      { source: 'ConfigMap sizes, key cpu', before: 2, after: 3 },
    ],
    ['no earlier value of another job', 'ConfigMap/sizes/cpu', 'j0', { source: 'ConfigMap sizes, key cpu', after: 3 }],
    ['no value of a Secret', 'Secret/creds/cpu', 'j1', { source: 'Secret creds, key cpu' }],
    ['no value of a DataObject', 'DataObject/region', 'j1', { source: 'DataObject region' }],
    ['a mapping', 'importDataMappings', 'j1', { source: 'spec.importDataMappings' }],
  ])('have %s', async (_what, source, previousJob, expected) => {
    const found = await findChangedInputs(journalWith([copy('changed', 'j1', 'j2')]), {
      before: first,
      after: second,
      tree: node(shop),
    })
    const annotations = {
      [`${PREFIX}/pawl-source`]: source,
      [`${PREFIX}/pawl-previous`]: JSON.stringify({ jobID: previousJob, value: 2 }),
    }
    const known = { of: 'Installation ns/shop', noun: 'import', name: 'changed', change: 'changed' }
    const live = { ...copyOf('changed', 'j2', annotations), data: 3 }
    expect(withValues(found, new Map([['uid-changed', live]]))).toEqual([{ ...known, ...expected }])
    // A later job has written another value.
    const later = { ...copyOf('changed', 'j3', annotations), data: 4 }
    const { source: sourceText } = expected
    expect(withValues(found, new Map([['uid-changed', later]]))).toEqual([{ ...known, source: sourceText }])
    expect(withValues(found, new Map())).toEqual([known])
  })
})

// Tests wide and deep trees of sub-installations: data flows down and up through all levels, deletion goes in the
// opposite order, and each level has a bounded number of writes. `npm run test:long` has the sizes of issue 18.
// Source: spec/landscaper.md 2.3 to 2.6, docs/reference/performance.md.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { RecordedWrite } from '../support/faults/http-proxy.ts'
import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { dataObject } from '../support/landscaper/imports.ts'
import { isLong } from '../support/matrix/form.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'
import { deploying, exportingData, sub, subsOf } from '../support/landscaper/sub-installations.ts'

const WIDE = isLong ? 200 : 30
const DEEP = 5
const LIMIT_MS = isLong ? 1_800_000 : 600_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('trees', inject('servers'), { workerFlags: PRODUCTION_TIMEOUTS })
  lane.proxy.arm()
}, LIMIT_MS)
afterAll(() => closeLane(lane))

const text = (name: string) => ({ name, type: 'data', schema: { type: 'string' } })
const importing = (...names: readonly string[]) => ({ data: names.map((name) => ({ name, dataRef: name })) })
const exporting = (name: string, dataRef = name) => ({ data: [{ name, dataRef }] })

/** `base` exports to all parts, and `sum` imports from all of them. */
function wide(name: string) {
  const base = sub('base', { exports: exporting('address'), blueprint: exportingData('address', 'here') })
  const part = sub('part-POSITION', {
    imports: importing('address'),
    exports: exporting('part', 'part-POSITION'),
    blueprint: { imports: [text('address')], ...exportingData('part', '"{{ .imports.address }}"') },
  })
  const parts = Array.from({ length: WIDE - 2 }, (_, index) => `part-${index}`)
  const sum = sub('sum', {
    imports: importing(...parts),
    exports: exporting('sum'),
    blueprint: { imports: parts.map(text), ...exportingData('sum', '{{ len .imports }}') },
  })
  const quoted = (value: object) => JSON.stringify(value).replaceAll('{{', '{{ "{{" }}')
  const template = `subinstallations:
- ${quoted(base)}
- ${quoted(sum)}
{{ range $position := until ${parts.length} }}- ${quoted(part).replaceAll('POSITION', '{{ $position }}')}
{{ end }}`
  return installation(name, [], {
    spec: { exports: exporting('sum', `${name}-sum`) },
    blueprint: {
      deployExecutions: [],
      subinstallationExecutions: [{ name: 'subs', type: 'GoTemplate', template }],
      ...exportingData('sum', '{{ .values.dataobjects.sum }}'),
    },
  })
}

/** Each level appends its depth to its imports and exports; the item of the last level exports its import. */
function deep(name: string) {
  const handingUp = (depth: number, value: string) => exportingData('way', `${value}-${depth}`)
  const level = (depth: number, blueprint: object) =>
    sub(`level-${depth}`, {
      imports: { data: [{ name: 'above', dataRef: 'way' }] },
      importDataMappings: { way: `(( above "+${depth}" ))` },
      exports: exporting('way', 'back'),
      blueprint: { imports: [text('way')], ...blueprint },
    })
  const leaf = level(DEEP, {
    ...deploying({ name: 'leaf', config: { export: { way: '{{ .imports.way }}' } } }),
    ...handingUp(DEEP, '{{ .values.deployitems.leaf.way }}'),
  })
  const nested = Array.from({ length: DEEP - 1 }, (_, index) => DEEP - 1 - index).reduce<object>(
    (inner, depth) =>
      level(depth, { subinstallations: [inner], ...handingUp(depth, '{{ .values.dataobjects.back }}') }),
    leaf,
  )
  return installation(name, [], {
    spec: {
      imports: { data: [{ name: 'way', dataRef: `${name}-way` }] },
      exports: exporting('way', `${name}-back`),
    },
    blueprint: {
      imports: [text('way')],
      deployExecutions: [],
      subinstallations: [nested],
      ...exportingData('way', '{{ .values.dataobjects.back }}'),
    },
  })
}

type Writes = Readonly<Record<string, number>>

/**
 * Counts the successful writes since the last call by verb and resource: all writes, and the maximum number for one of
 * the named Installations. Waits until the journal is idle, because other clients may see a write before its answer
 * arrives.
 */
async function newWrites(): Promise<{ readonly all: Writes; readonly most: (names: readonly string[]) => Writes }> {
  await waitUntilJournalIdle(lane)
  const all = lane.proxy.writes.splice(0)
  const seen = all.filter(({ status, label }) => status < 300 && !label.endsWith(' events'))
  const most = (names: readonly string[]) => {
    const each = names.map((name) => counted(seen.filter((write) => nameOf(write) === name)))
    const labels = new Set(each.flatMap((counts) => Object.keys(counts)))
    return Object.fromEntries([...labels].map((label) => [label, Math.max(...each.map((one) => one[label] ?? 0))]))
  }
  return { all: counted(seen), most }
}

function counted(writes: readonly RecordedWrite[]): Writes {
  const counts: Record<string, number> = {}
  for (const { label } of writes) counts[label] = (counts[label] ?? 0) + 1
  return counts
}

function nameOf({ label, answer }: RecordedWrite): string {
  return label.includes(' installations') ? answer.metadata.name : ''
}

/** The number of signals of each run of the object. */
async function signalsOf({ metadata: { uid = '' } }: LsObject): Promise<readonly number[]> {
  const { db, client } = lane.pawl
  const jobs = await db.selectFrom('job').select('workflow_id').where('uid', '=', uid).execute()
  const histories = jobs.map(async ({ workflow_id }) => await client.workflow.getHandle(workflow_id).fetchHistory())
  return (await Promise.all(histories)).map(
    ({ events }) => (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null).length,
  )
}

describe('an installation of very many sub-installations', () => {
  it(
    'is deployed, deployed again and taken away, with few writes for each',
    async () => {
      const { cluster } = lane
      await cluster.create(wide('wide'), 'installations')
      const first = await cluster.waitUntilFinished('wide', undefined, 'installations', LIMIT_MS)
      expect(first.status).toMatchObject({ phase: 'Succeeded' })
      expect((await cluster.get('dataobjects', 'wide-sum'))?.['data']).toBe(WIDE - 2)
      const subs = [...(await subsOf(cluster, 'wide')).values()].map(({ metadata }) => metadata.name)
      expect(subs).toHaveLength(WIDE)
      const made = await newWrites()
      // The status writes are the job ID, the wait for a sibling, and the end.
      expect(made.most(subs)).toEqual({ 'POST installations': 1, 'PATCH installations/status': 3 })
      expect(made.most(['wide'])).toEqual({ 'PATCH installations': 1, 'PATCH installations/status': 4 })
      // The exports of each sub-installation and the root, and a copy for each import.
      expect(made.all['POST dataobjects']).toBe(WIDE + 1 + 2 * (WIDE - 2))

      await cluster.trigger('wide')
      const second = await cluster.waitUntilFinished('wide', first.status?.jobID, 'installations', LIMIT_MS)
      expect(second.status).toMatchObject({ phase: 'Succeeded' })
      const made2 = await newWrites()
      expect(made2.most(subs)).toEqual({ 'PATCH installations/status': 3 })
      expect(made2.all['PATCH dataobjects']).toBe(WIDE + 1)

      await cluster.delete('installations', 'wide')
      await cluster.waitUntilGone('wide', 'installations', LIMIT_MS)
      expect((await subsOf(cluster, 'wide')).size).toBe(0)
      const gone = await newWrites()
      // The status writes are the job ID and the wait for a sibling; the PATCH removes the finalizer.
      const each = { 'DELETE installations': 1, 'PATCH installations': 1, 'PATCH installations/status': 2 }
      expect(gone.most(subs)).toEqual(each)
      expect(gone.most(['wide'])).toEqual({ 'PATCH installations': 1, 'PATCH installations/status': 2 })
      for (const count of await signalsOf(first)) expect(count).toBeLessThan(2 * WIDE)
    },
    LIMIT_MS,
  )
})

describe('an installation of deeply nested sub-installations', () => {
  it(
    'hands data down to the last and up to the first, and goes from the last to the first',
    async () => {
      const { cluster } = lane
      await cluster.create(dataObject('deep-way', 'root'), 'dataobjects')
      await cluster.create(deep('deep'), 'installations')
      const root = await cluster.waitUntilFinished('deep', undefined, 'installations', LIMIT_MS)
      expect(root.status).toMatchObject({ phase: 'Succeeded' })
      expect((await cluster.get('dataobjects', 'deep-back'))?.['data']).toBe('root+1+2+3+4+5-5-4-3-2-1')
      const levels: LsObject[] = []
      for (let depth = 1; depth <= DEEP; depth++) {
        const one = (await subsOf(cluster, levels.at(-1)?.metadata.name ?? 'deep')).get(`level-${depth}`) as LsObject
        expect(one.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: root.status?.jobID })
        levels.push(one)
      }
      const names = levels.map(({ metadata }) => metadata.name)
      const made = await newWrites()
      // The status writes are the job ID, a settle before the child has the job, the wait for the child, and the end.
      expect(made.most(names)).toEqual({ 'POST installations': 1, 'PATCH installations/status': 4 })
      expect(made.most(names.slice(-1))).toEqual({ 'POST installations': 1, 'PATCH installations/status': 2 })

      await cluster.delete('installations', 'deep')
      await cluster.waitUntilGone('deep', 'installations', LIMIT_MS)
      const gone = await newWrites()
      const each = { 'DELETE installations': 1, 'PATCH installations': 1, 'PATCH installations/status': 2 }
      expect(gone.most(names)).toEqual(each)
      for (const name of names) expect(await cluster.get('installations', name)).toBeUndefined()
    },
    LIMIT_MS,
  )
})

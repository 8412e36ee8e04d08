// A user edits an object of the tree between two writes of a job: each object, in each gap in which it exists, once a label and once the spec. A label changes
// nothing. A spec is used where the job has not decided yet: no job ends with an edit that its last pass has not read. `npm test` runs a sample of the gaps.
// Source: docs/concepts/architecture.md "Writes, fields, errors", spec/landscaper.md 2.2, 2.3 "Completing".

import { afterAll, describe, expect, it } from 'vitest'
import { HttpProxy } from '../support/faults/http-proxy.ts'
import { blueprintOf, installation, type Item, item, type LsObject } from '../support/cluster/cluster.ts'
import { findUnjournaledWrites } from '../support/faults/unjournaled-writes.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

let proxy: HttpProxy | undefined
const stage = useStage('between', async () => {
  proxy = await HttpProxy.start(stage.servers.accounts.worker)
  return { workerKubeconfig: proxy.kubeconfigPath }
})
afterAll(() => proxy?.stop())

const ITEMS: readonly Item[] = [{ name: 'only' }]
const MORE: readonly Item[] = [...ITEMS, { name: 'new' }]

/** The writes of such a job, in their order. The first case that comes to another count of them fails. */
const WRITES = [
  'PATCH installations/status',
  'PATCH installations',
  'POST executions',
  'POST deployitems',
  'PATCH deployitems/status',
  'PATCH executions/status',
  'PATCH installations/status',
] as const

type Plural = 'installations' | 'executions' | 'deployitems'

/** After which write an object is there. */
const BORN: Readonly<Record<Plural, number>> = { installations: 1, executions: 3, deployitems: 4 }

const SPECS: Readonly<Record<Plural, object>> = {
  installations: { blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprintOf(MORE)) } } } },
  executions: { deployItems: MORE.map(item), deployItemsCompressed: null },
  deployitems: { timeout: '700s' },
}
const LABELS = { 'example.org/edited': 'yes' }

interface Case {
  readonly plural: Plural
  /** The edit is made when this write comes, before the server has it. */
  readonly before: number
  readonly name: string
  readonly title: string
}

const CASES: readonly Case[] = (['installations', 'executions', 'deployitems'] as const).flatMap((plural) =>
  WRITES.flatMap((label, index): Case[] => {
    if (index < BORN[plural]) return []
    return [
      { plural, before: index, name: `${plural}-${index}`, title: `${plural} before ${label} (write ${index + 1})` },
    ]
  }),
)

/** Runs a job, with one edit of one object in one gap. @returns the Installation at its end, and the object right after the edit. */
async function run({ plural, before }: Case, name: string, edit: object) {
  const { cluster } = stage
  let edited: LsObject | undefined
  proxy?.arm(undefined, async (_label, nth) => {
    if (nth !== before + 1) return undefined
    const object = plural === 'deployitems' ? (await cluster.items(name)).get('only')?.metadata.name : name
    edited = await cluster.patch(plural, object ?? 'none', edit)
    return undefined
  })
  await cluster.create(installation(name, ITEMS), 'installations')
  const root = await cluster.waitUntilFinished(name)
  const jobs = await stage.pawl.jobs(root)
  if (edited === undefined) throw new Error(`there was no write ${before + 1}`)
  return { root: (await cluster.get('installations', name))!, edited, jobs: jobs.map(({ outcome }) => outcome) }
}

async function isLeft(plural: Plural, { metadata: { name } }: LsObject, edit: object): Promise<void> {
  expect(await stage.cluster.get(plural, name)).toMatchObject(edit)
}

/** Runs another job. A job that starts within milliseconds of an edit may read the objects before the bridge has journaled it (read-family.ts, R2). */
async function nextJob(name: string, after: LsObject, edited: LsObject): Promise<LsObject> {
  await stage.pawl.waitUntilJournaled(edited)
  await stage.cluster.trigger(name)
  return await stage.cluster.waitUntilFinished(name, after.status?.jobID)
}

describe('a label that a user adds to one of the', () => {
  it.each(sampleOf('edits: labels', CASES, 3))('$title changes nothing in the job, and stays', async (one) => {
    const name = `label-${one.name}`
    const edit = { metadata: { labels: LABELS } }
    const { root, edited, jobs } = await run(one, name, edit)
    expect(root.status).toMatchObject({ phase: 'Succeeded', observedGeneration: root.metadata.generation })
    expect(jobs).toEqual(['Succeeded'])
    expect(await stage.cluster.phases(name)).toEqual({ only: 'Succeeded' })
    await isLeft(one.plural, edited, edit)
    const done = proxy?.writes.filter(({ status }) => status < 300) ?? []
    expect(done.map(({ label }) => label)).toEqual(WRITES)
    expect(await findUnjournaledWrites(stage.pawl, name, done)).toEqual([])
  })
})

describe('a spec that a user edits of one of the', () => {
  const of = (plural: Plural, where: (one: Case) => boolean = () => true) => {
    const cases = CASES.filter((one) => one.plural === plural && where(one))
    return sampleOf(`edits: specs of ${plural}`, cases, 1)
  }

  it.each(of('installations', ({ before }) => before > 1))(
    '$title fails the job at its end, and the next job uses it',
    async (one) => {
      const name = `spec-${one.name}`
      const edit = { spec: SPECS.installations }
      const { root, edited, jobs } = await run(one, name, edit)
      expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'CheckObservedGeneration' } })
      expect(jobs).toEqual(['Failed'])
      await isLeft(one.plural, edited, edit)
      expect(await findUnjournaledWrites(stage.pawl, name, proxy?.writes ?? [])).toEqual([])
      expect((await nextJob(name, root, edited)).status).toMatchObject({ phase: 'Succeeded' })
      expect(await stage.cluster.phases(name)).toEqual({ only: 'Succeeded', new: 'Succeeded' })
    },
  )

  it.each(of('installations', ({ before }) => before === 1))(
    '$title is rendered by the job; a request that came with it gets another job',
    async (one) => {
      const name = `spec-${one.name}`
      const edit = { spec: SPECS.installations }
      const { root, edited, jobs } = await run(one, name, edit)
      expect(root.status).toMatchObject({ phase: 'Succeeded', observedGeneration: root.metadata.generation })
      expect(jobs).toEqual(['Succeeded', 'Succeeded'])
      await isLeft(one.plural, edited, edit)
      expect(await stage.cluster.phases(name)).toEqual({ only: 'Succeeded', new: 'Succeeded' })
    },
  )

  it.each(of('executions'))('$title is deployed by the job, unless the Execution has ended', async (one) => {
    const name = `spec-${one.name}`
    const edit = { spec: { deployItems: MORE.map(item) } }
    const { root, edited, jobs } = await run(one, name, { spec: SPECS.executions })
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(jobs).toEqual(['Succeeded'])
    await isLeft(one.plural, edited, edit)
    expect(await findUnjournaledWrites(stage.pawl, name, proxy?.writes ?? [])).toEqual([])
    const isOver = one.before > WRITES.indexOf('PATCH executions/status')
    const phases = await stage.cluster.phases(name)
    expect(phases).toEqual({ only: 'Succeeded', ...(!isOver && { new: 'Succeeded' }) })
    expect((await nextJob(name, root, edited)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await stage.cluster.phases(name)).toEqual({ only: 'Succeeded' })
  })

  it.each(of('deployitems'))('$title is reverted by the next job', async (one) => {
    const name = `spec-${one.name}`
    const edit = { spec: SPECS.deployitems }
    const { root, edited, jobs } = await run(one, name, edit)
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(jobs).toEqual(['Succeeded'])
    await isLeft(one.plural, edited, edit)
    expect(await findUnjournaledWrites(stage.pawl, name, proxy?.writes ?? [])).toEqual([])
    // It says which spec it was deployed by.
    const left = (await stage.cluster.items(name)).get('only')
    expect(left).toMatchObject({ metadata: { generation: 2 }, status: { observedGeneration: 1 } })
    expect((await nextJob(name, root, edited)).status).toMatchObject({ phase: 'Succeeded' })
    const after = (await stage.cluster.items(name)).get('only')
    expect(after?.spec).not.toHaveProperty('timeout')
    expect(after).toMatchObject({ metadata: { generation: 3 }, status: { observedGeneration: 3 } })
  })
})

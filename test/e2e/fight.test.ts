// Tests conflicts: another client writes to each object just before each of Pawl's writes. Pawl retries only the write
// that meets the conflict, on the new version.
// Source: seeds/chaos-mesh-controller-rules.txt "Handle the conflict in an easier way".

import { afterAll, describe, expect, it } from 'vitest'
import { ApiProxy } from '../support/faults/api-proxy.ts'
import { installation, type Item, type LsObject } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

let proxy: ApiProxy | undefined
const stage = useStage('fight', async () => {
  proxy = await ApiProxy.start(stage.servers.accounts.worker)
  // Long timeouts prevent lost workflow tasks: a repeated task would write again, and meet more conflicts.
  const workerFlags = [
    '--workflow-task-timeout-ms',
    '60000',
    '--sticky-timeout-ms',
    '20000',
    '--wake-lease-ms',
    '60000',
  ]
  return { workerKubeconfig: proxy.kubeconfigPath, workerFlags }
})
afterAll(() => proxy?.stop())

const ITEMS: readonly Item[] = [
  { name: 'a', config: { export: { key: 'value' } } },
  { name: 'b', dependsOn: ['a'] },
]
const NOTE = 'example.org/note-'

/** Writes to an object before the first attempt of each of Pawl's writes to it. */
class Rival {
  readonly #counts = new Map<string, number>()
  readonly #isBeaten = new Set<string>()

  /** The number of its writes to each object, by path. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  async strike(label: string, path: string): Promise<undefined> {
    const [verb = ''] = label.split(' ')
    if (verb === 'POST') return
    // The retry after a conflict succeeds.
    if (this.#isBeaten.delete(`${label} ${path}`)) return
    this.#isBeaten.add(`${label} ${path}`)
    const of = path.replace(/\/status$/, '')
    const count = (this.#counts.get(of) ?? 0) + 1
    this.#counts.set(of, count)
    const body = {
      metadata: { annotations: { [`${NOTE}${count}`]: 'a' }, labels: { [`${NOTE}${count}`]: 'l' } },
      ...(of.includes('/deployitems/') && { spec: { timeout: `${600 + count}s` } }),
    }
    await stage.cluster.kube.request('PATCH', of, { body, contentType: 'application/merge-patch+json' })
    return undefined
  }

  /** The fields that it wrote and that the object no longer has. */
  lost({ metadata, kind, spec }: LsObject): string[] {
    const [, count = 0] =
      [...this.#counts].find(
        ([path]) => path.endsWith(`/${metadata.name}`) && path.includes(`/${kind?.toLowerCase()}s/`),
      ) ?? []
    const keys = Array.from({ length: count }, (_, index) => `${NOTE}${index + 1}`)
    return [
      ...keys.filter((key) => metadata.annotations?.[key] !== 'a').map((key) => `${metadata.name} annotation ${key}`),
      ...keys.filter((key) => metadata.labels?.[key] !== 'l').map((key) => `${metadata.name} label ${key}`),
      ...(kind === 'DeployItem' && spec?.['timeout'] !== `${600 + count}s` ? [`${metadata.name} timeout`] : []),
    ]
  }
}

/**
 * Pawl's writes to a tree, sorted. The journal has one row for each write, without its retries; a repeated pass would
 * add rows.
 */
async function steps(name: string, after = 0): Promise<string[]> {
  const rows = await stage.pawl.db
    .selectFrom('action')
    .innerJoin('job', 'job.workflow_id', 'action.workflow_id')
    .select(['job.controller', 'action.step', 'action.verb', 'action.kind', 'action.error', 'action.seq'])
    .where('job.name', '=', name)
    .where('action.seq', '>', after)
    .execute()
  return rows
    .map(({ controller, step, verb, kind, error }) => {
      return `${controller} ${step} ${verb} ${kind}${error === null ? '' : ` ${String(error['reason'])}`}`
    })
    .toSorted()
}

async function lastAction(): Promise<number> {
  const { seq } = await stage.pawl.db
    .selectFrom('action')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .executeTakeFirstOrThrow()
  return seq
}

async function run(name: string): Promise<LsObject> {
  await stage.cluster.create(installation(name, ITEMS), 'installations')
  const root = await stage.cluster.waitUntilFinished(name)
  await stage.pawl.waitUntilSettled(root)
  return root
}

async function remove(name: string): Promise<void> {
  const root = await stage.cluster.get('installations', name)
  await stage.cluster.delete('installations', name)
  await stage.cluster.waitUntilGone(name)
  // The journal has the last steps only when the run has ended.
  await stage.pawl.waitUntilSettled({
    metadata: { ...root?.metadata, name, resourceVersion: String(Number.MAX_SAFE_INTEGER) },
  })
}

describe('a job and a deletion in which each write meets a conflict', () => {
  it('end as they do in peace, in as many steps; nothing that the other has written is lost', async () => {
    const { cluster } = stage
    await run('peace')
    const inPeace = await steps('peace')
    const mark = await lastAction()
    await remove('peace')
    const removedInPeace = await steps('peace', mark)

    const rival = new Rival()
    proxy?.arm(undefined, async (label, _nth, path) => await rival.strike(label, path))
    const root = await run('war')
    expect(root.status?.phase).toBe('Succeeded')
    expect(await cluster.phases('war')).toEqual({ a: 'Succeeded', b: 'Succeeded' })
    expect(await steps('war')).toEqual(inPeace)

    const conflicts = proxy?.writes.filter(({ status }) => status === 409) ?? []
    const struck = [...rival.counts.values()].reduce((sum, count) => sum + count, 0)
    expect(conflicts.length).toBe(struck)
    expect(struck).toBe(inPeace.filter((step) => step.includes(' patch')).length)
    expect(struck).toBeGreaterThan(5)
    const execution = await cluster.get('executions', 'war')
    const items = await cluster.items('war')
    const all = [root, execution!, ...items.values()]
    expect(all.flatMap((object) => rival.lost(object))).toEqual([])
    expect(all.map(({ metadata }) => metadata.annotations?.[`${NOTE}1`])).toEqual(['a', 'a', 'a', 'a'])

    const before = await lastAction()
    proxy?.writes.splice(0)
    await remove('war')
    expect(await steps('war', before)).toEqual(removedInPeace)
    expect(proxy?.writes.filter(({ status }) => status === 409)).toHaveLength(removedInPeace.length)

    // No run was lost and retried.
    const jobs = await stage.pawl.db
      .selectFrom('job')
      .select(['attempt', 'outcome'])
      .where('name', '=', 'war')
      .execute()
    expect(jobs.filter(({ attempt, outcome }) => attempt > 0 || outcome === 'lost')).toEqual([])
  })
})

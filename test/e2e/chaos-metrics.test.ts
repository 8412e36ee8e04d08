// What two workers count of Disruptions, as Prometheus reads it. Source: spec/chaos.md 2.15.

import { beforeAll, describe, expect, it, vi } from 'vitest'

import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { metricsOf, type Scraped, valueOf } from '../support/chaos/scrape.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'

const WORKERS = ['worker', 'second']
const chaos = useChaos('metrics', ['shop'])
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
// Here, for it counts for the tests that are found after it.
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  await shop().makeNode('n1')
  await chaos.tenants.pawl.startWorker('second')
})

const scraped = async (): Promise<readonly Scraped[]> =>
  await Promise.all(WORKERS.map(async (name) => await metricsOf(chaos.tenants.pawl.log(name))))

/** Of counters: what all have counted. */
async function sum(name: string, labels = ''): Promise<number> {
  return (await scraped()).reduce((all, one) => all + (valueOf(one, name, labels) ?? 0), 0)
}

/** Of gauges: what each of them says. */
async function each(name: string): Promise<readonly (number | undefined)[]> {
  return (await scraped()).map((one) => valueOf(one, name))
}

describe('two workers that serve Disruptions', () => {
  it('count together what was done, each of it once, and tell the same of what is there', async () => {
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await shop().runPod(name, { labels: { app: name }, node: 'n1' })
    const spec = { count: 1, duration: '10m', cpuPressure: {}, memoryPressure: { targetPercent: '50%' } }
    const made = await Promise.all(
      names.map(async (name) => await shop().disrupt(name, { ...spec, selector: { app: name } })),
    )
    for (const one of made) for (const pod of await kubelet.untilPods(one, 2)) await kubelet.ready(pod)
    for (const name of names) await shop().until(name, { injectionStatus: 'Injected' })
    const ofShop = `namespace="${shop().cluster.namespace}"`
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_pods_created', `${ofShop},status="succeed"`)).toBe(8)
      expect(await sum('chaos_controller_inject_duration_count')).toBe(4)
      expect(await each('chaos_controller_disruptions_gauge')).toEqual([4, 4])
      expect(await each('chaos_controller_pods_gauge')).toEqual([8, 8])
      expect(await each('chaos_controller_disruptions_stuck_on_removal_total')).toEqual([0, 0])
    }, PATIENT)
    expect(await each('chaos_controller_restart')).toEqual([1, 1])
    expect(await sum('chaos_controller_reconcile')).toBeGreaterThanOrEqual(4)
    expect(await sum('chaos_controller_reconcile_duration_count')).toBeGreaterThanOrEqual(4)
    const [first] = await scraped()
    expect(
      valueOf(first ?? '', 'chaos_controller_disruption_ongoing_duration', `${ofShop},name="one"`),
    ).toBeGreaterThan(0)

    const [stuck] = await kubelet.pods(made[0])
    await kubelet.exit(stuck!, 1)
    for (const name of names) await shop().remove(name)
    await shop().until('one', { isStuckOnRemoval: true })
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_disruptions_stuck_on_removal', ofShop)).toBe(1)
      expect(await each('chaos_controller_disruptions_stuck_on_removal_total')).toEqual([1, 1])
    }, PATIENT)
    await kubelet.release(stuck!)
    await vi.waitFor(async () => {
      for (const one of made) for (const pod of await kubelet.pods(one)) await kubelet.end(pod)
      for (const name of names)
        expect(await shop().cluster.get('disruptions', name, 'chaos.datadoghq.com/v1beta1')).toBeUndefined()
    }, PATIENT)
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_disruptions_count', 'disruption_kind="cpu-pressure"')).toBe(4)
      expect(await sum('chaos_controller_disruptions_count', 'disruption_kind="memory-pressure"')).toBe(4)
      expect(await sum('chaos_controller_cleanup_duration_count')).toBe(4)
      expect(await sum('chaos_controller_disruption_completed_duration_count')).toBe(4)
      expect(await each('chaos_controller_disruptions_gauge')).toEqual([0, 0])
      expect(await each('chaos_controller_pods_gauge')).toEqual([0, 0])
    }, PATIENT)
  })
})

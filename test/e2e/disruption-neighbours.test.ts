// What else there is beside a Disruption: another tenant with the same names, another worker, chaos pods that somebody deletes by hand.

import { beforeAll, describe, expect, it, vi } from 'vitest'

import { DISRUPTION_NAMESPACE_LABEL, TARGET_LABEL } from '../../workflows/chaos/contract.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'

const chaos = useChaos('disruption-neighbours', ['alice', 'mallory'])
const [alice, mallory] = [() => chaos.of('alice'), () => chaos.of('mallory')]
const SPEC = { selector: { app: 'web' }, count: '100%', network: { drop: 30 } }
let kubelet: ChaosKubelet
beforeAll(async () => {
  kubelet = new ChaosKubelet(alice().cluster.kube)
  await alice().makeNode('n1')
})

describe('a Disruption', () => {
  it('and one of the same name in another namespace see nothing of each other, nor of the pods there', async () => {
    for (const tenant of [alice(), mallory()]) await tenant.runPod('web', { labels: { app: 'web' }, node: 'n1' })
    await alice().runPod('only-here', { labels: { app: 'web' }, node: 'n1' })
    const hers = await alice().disrupt('same', SPEC)
    const others = await mallory().disrupt('same', SPEC)
    const [own, foreign] = [await kubelet.untilPods(hers, 2), await kubelet.untilPods(others, 1)]
    for (const pod of [...own, ...foreign]) await kubelet.ready(pod)
    await alice().until('same', { injectionStatus: 'Injected', targets: ['only-here', 'web'] })
    await mallory().until('same', { injectionStatus: 'Injected', targets: ['web'] })

    await mallory().remove('same')
    for (const pod of foreign) await kubelet.end(pod)
    await mallory().gone('same')
    expect(await alice().status('same')).toMatchObject({ injectionStatus: 'Injected' })
    for (const { metadata } of await kubelet.pods(hers)) {
      expect(metadata.deletionTimestamp).toBeUndefined()
      expect(metadata.labels?.[DISRUPTION_NAMESPACE_LABEL]).toBe('alice')
    }
    await alice().remove('same')
    for (const pod of own) await kubelet.end(pod)
    await alice().gone('same')
  })

  // Source: spec/chaos.md 4.3, B14.
  it('makes another chaos pod when somebody deletes one by hand, and counts that as a run', async () => {
    const made = await alice().disrupt('by-hand', { ...SPEC, count: 1 })
    const [first] = await kubelet.untilPods(made, 1)
    await kubelet.ready(first!)
    await alice().until('by-hand', { injectionStatus: 'Injected', runCount: 1 })
    await kubelet.delete(first!)
    await kubelet.exit(first!, 0)
    await vi.waitFor(async () => {
      const still = (await kubelet.pods(made)).find(({ metadata }) => metadata.uid === first?.metadata.uid)
      expect(still?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
    await kubelet.bury(first!)
    const second = await vi.waitFor(async () => {
      const found = (await kubelet.pods(made)).find(({ metadata }) => metadata.uid !== first?.metadata.uid)
      expect(found).toBeDefined()
      return found!
    }, PATIENT)
    expect(second.metadata.name).not.toBe(first?.metadata.name)
    await kubelet.ready(second)
    await alice().until('by-hand', { injectionStatus: 'Injected', runCount: 2 })
    await alice().remove('by-hand')
    await kubelet.end(second)
    await alice().gone('by-hand')
  })

  // Source: spec/chaos.md 2.3 (the last but one), 4.3, B14.
  it('whose targets are drawn once loses the target of a chaos pod that somebody deletes, and disturbs no other for it', async () => {
    const labels = { app: 'once' }
    for (const name of ['once-1', 'once-2', 'once-3']) await alice().runPod(name, { labels, node: 'n1' })
    const spec = { ...SPEC, selector: labels, count: 2, staticTargeting: true }
    const made = await alice().disrupt('once', spec)
    const [first, other] = await kubelet.untilPods(made, 2)
    for (const pod of [first!, other!]) await kubelet.ready(pod)
    await alice().until('once', { injectionStatus: 'Injected', selectedTargetsCount: 2 })
    const { targets: drawn = [] } = await alice().status('once')
    await kubelet.delete(first!)
    await kubelet.exit(first!, 0)
    const lost = first!.metadata.labels![TARGET_LABEL]!
    await alice().until('once', {
      ...{ injectionStatus: 'Injected', targets: drawn, ignoredTargets: [lost], runCount: 1 },
      ...{ selectedTargetsCount: 1, ignoredTargetsCount: 2, desiredTargetsCount: 1, injectedTargetsCount: 1 },
    })
    await vi.waitFor(async () => {
      const still = (await kubelet.pods(made)).find(({ metadata }) => metadata.uid === first?.metadata.uid)
      expect(still?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
    await kubelet.bury(first!)
    // Passes that see it gone.
    await kubelet.ready(other!, false)
    await alice().until('once', { injectionStatus: 'NotInjected', ignoredTargets: [lost] })
    await kubelet.ready(other!)
    await alice().until('once', { injectionStatus: 'Injected', ignoredTargets: [lost], runCount: 1 })
    expect((await kubelet.pods(made)).map(({ metadata }) => metadata.uid)).toEqual([other!.metadata.uid])
    await alice().remove('once')
    await kubelet.end(other!)
    await alice().gone('once')
  })

  it('is one for two workers, and goes on when one of them is killed', async () => {
    const { pawl } = chaos.tenants
    await pawl.startWorker('second')
    const many = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const app = `shared-${index}`
        await alice().runPod(app, { labels: { app }, node: 'n1' })
        return await alice().disrupt(app, { ...SPEC, selector: { app } })
      }),
    )
    await pawl.kill('worker')
    for (const made of many) {
      const [pod, ...more] = await kubelet.untilPods(made, 1)
      expect(more).toEqual([])
      await kubelet.ready(pod!)
      await alice().until(made.metadata.name, { injectionStatus: 'Injected', runCount: 1 })
    }
    await pawl.startWorker()
    await pawl.kill('second')
    for (const made of many) {
      await alice().remove(made.metadata.name)
      for (const pod of await kubelet.pods(made)) await kubelet.end(pod)
      await alice().gone(made.metadata.name)
    }
  })
})

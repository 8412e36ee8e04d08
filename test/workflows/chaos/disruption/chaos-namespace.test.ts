// The namespace of a Disruption's chaos pods: the configured one at its first pass.

import { describe, expect, it } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { disruptionController } from '../../../../workflows/chaos/disruption/controller.ts'
import { selectionsOf, writesFor } from '../../../../workflows/kit/index.ts'
import { chaosPod, pass, SPEC, useTime, there } from './passes.ts'

useTime()

const inNamespace = (chaosNamespace: string) => ({
  ...DEFAULT_CONFIG,
  injector: { ...DEFAULT_CONFIG.injector, chaosNamespace },
})
const TARGETS = there('web-1')

describe('the chaos pods of a Disruption', () => {
  it('are created in the configured namespace, which the status records and the injector gets as an argument', async () => {
    const { writes, status } = await pass({ state: TARGETS, settings: inNamespace('disturbers') })
    expect(status).toMatchObject({ chaosNamespace: 'disturbers' })
    const [{ object }] = writes as unknown as [
      { object: { metadata: object; spec: { containers: [{ args: readonly string[] }] } } },
    ]
    expect(object.metadata).toMatchObject({ namespace: 'disturbers' })
    const { args } = object.spec.containers[0]
    expect(args[args.indexOf('--chaos-namespace') + 1]).toBe('disturbers')
  })

  it('are created in the namespace of the first pass after a change of the configuration', async () => {
    const { next } = await pass({ state: TARGETS, settings: inNamespace('former') })
    const status = next.target.status as object
    const { writes, status: changed } = await pass({ state: TARGETS, status, settings: inNamespace('new') })
    expect(writes).toMatchObject([{ verb: 'create', object: { metadata: { namespace: 'former' } } }])
    expect(changed).toEqual({})
  })

  it('are queried there, and in the configured namespace after the Disruption is deleted', () => {
    const { queries, writes } = disruptionController
    const settings = { injector: { chaosNamespace: 'new' } }
    const metadata = { name: 'slow', namespace: 'shop', uid: 'uid-slow' }
    const inFormer = { metadata, status: { chaosNamespace: 'former' } }
    for (const name of ['chaosPods', 'labelledChaosPods', 'allChaosPods']) {
      const placesOf = (target: object) =>
        selectionsOf(queries[name]!, target, settings).map(({ namespace }) => namespace)
      expect(placesOf(inFormer)).toEqual(['former'])
      expect(placesOf({ metadata })).toEqual(['new'])
    }
    expect(writesFor(writes, { target: inFormer, settings })[0]?.namespaces).toEqual(['former'])
  })

  it('are recorded in the default namespace for a Disruption of an older version', async () => {
    const state = { ...TARGETS, chaosPods: [chaosPod('web-1')] }
    const { next } = await pass({ state })
    const { chaosNamespace, ...status } = next.target.status ?? {}
    expect(chaosNamespace).toBe('chaos-engineering')
    expect((await pass({ state, status })).status).toMatchObject({ chaosNamespace })
  })
})

describe('a Disruption of an older version', () => {
  const fromOlderVersion = {
    status: { originalSpec: SPEC, specHash: 'x', targets: ['web-1'] },
    settings: inNamespace('new'),
  }

  it('gets the default namespace recorded before any other step', async () => {
    for (const metadata of [{}, { deletionTimestamp: '2026-01-02T03:00:01Z' }]) {
      const { written, status, outcome } = await pass({ ...fromOlderVersion, metadata, state: TARGETS })
      expect([written, status, outcome.againMs]).toEqual([[], { chaosNamespace: 'chaos-engineering' }, 0])
    }
  })

  it('gets the configured namespace if chaos-controller has started it', async () => {
    const status = { injectionStatus: 'Injected', targetInjections: {} }
    expect((await pass({ ...fromOlderVersion, status, state: TARGETS })).status).toMatchObject({
      chaosNamespace: 'new',
    })
  })
})

describe('an emergency stop of the cluster', () => {
  it('is read from the configured namespace, also for a Disruption with another chaos namespace', () => {
    const query = disruptionController.queries['chaosHome']!
    const target = { metadata: { name: 'slow', namespace: 'shop' }, status: { chaosNamespace: 'former' } }
    expect(selectionsOf(query, target, { injector: { chaosNamespace: 'new' } })).toMatchObject([{ name: 'new' }])
  })
})

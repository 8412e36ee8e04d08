// Which pods are targets of a Disruption with onInit. Source: spec/chaos.md 2.3 (3, 4), 4.3 B23.

import { describe, expect, it } from 'vitest'

import { podView } from '../../../../workflows/chaos/disruption/observed.ts'
import { matchingTargets } from '../../../../workflows/chaos/disruption/selection.ts'
import type { Pod } from '../../../../workflows/kit/kind/kubernetes/v1.ts'

const LABELS = { 'chaos.datadoghq.com/disrupt-on-init': 'true' }
const RUNNING = { running: {} }
const GONE_ON = { terminated: { exitCode: 0 } }

interface Given {
  readonly phase?: string
  readonly handler?: object
  readonly labels?: Readonly<Record<string, string>>
}

function pod({ phase = 'Pending', handler, labels = LABELS }: Given): Pod {
  const initContainerStatuses = handler && [{ name: 'chaos-handler', containerID: 'containerd://1', state: handler }]
  const metadata = { name: 'web', uid: 'u', resourceVersion: '1', labels }
  const given: unknown = { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase, initContainerStatuses } }
  return given as Pod
}

const isChosen = (given: Given, current: readonly string[] = []) =>
  matchingTargets([podView(pod(given))], { onInit: true }, { current: new Set(current), ownNodes: new Set<string>() })
    .length > 0

describe('a Disruption with onInit', () => {
  it('chooses a pod with a waiting handler, whose containers include the handler', () => {
    expect(isChosen({ handler: RUNNING })).toBe(true)
    expect(podView(pod({ handler: RUNNING })).containers).toEqual([
      { name: 'chaos-handler', id: 'containerd://1', isInit: true },
    ])
  })

  it.each<[string, Given]>([
    ['runs', { phase: 'Running' }],
    ['waits for something else', {}],
    ['has gone on', { handler: GONE_ON }],
    ['has a container of that name without asking for it', { handler: RUNNING, labels: {} }],
  ])('does not choose a pod that %s', (_what, given) => {
    expect(isChosen(given)).toBe(false)
  })

  it('keeps a chosen pod that runs', () => {
    expect(isChosen({ phase: 'Running' }, ['web'])).toBe(true)
  })

  it('cleans up a chosen pod until it runs', () => {
    expect(podView(pod({ handler: GONE_ON })).isStarting).toBe(true)
    expect(podView(pod({ handler: { terminated: { exitCode: 1 } } })).isStarting).toBe(false)
  })
})

// The init container that the webhook adds to labelled pods.

import { describe, expect, it } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../../workflows/chaos/config.ts'
import { handlerChange } from '../../../../../workflows/chaos/on-init/rules/handler-container.ts'

const HANDLER = { ...DEFAULT_CONFIG.handler, enabled: true, image: 'handler:1', maxTimeoutMs: 3_600_000 }
const LABELS = { 'chaos.datadoghq.com/disrupt-on-init': 'true' }

function pod({ annotations, spec, labels = LABELS }: { annotations?: object; spec?: object; labels?: object } = {}) {
  return { metadata: { name: 'web', labels, ...(annotations && { annotations }) }, spec: { containers: [], ...spec } }
}

/** The arguments of the added container. */
function argsOf(annotations: Readonly<Record<string, string>>): unknown {
  const [change] = handlerChange(pod({ annotations }), HANDLER)
  return (change?.value as readonly { readonly args: readonly string[] }[])[0]?.args
}

describe('a pod with the label of on-init', () => {
  it('gets an init container before all others, in the shape of chaos-controller', () => {
    const own = { name: 'migrate', image: 'migrate' }
    expect(handlerChange(pod({ spec: { initContainers: [own] } }), HANDLER)).toEqual([
      {
        path: ['spec', 'initContainers'],
        value: [
          {
            name: 'chaos-handler',
            image: 'handler:1',
            imagePullPolicy: 'IfNotPresent',
            args: ['--timeout', '1m0s'],
            resources: { limits: { cpu: '100m', memory: '100Mi' }, requests: { cpu: '100m', memory: '100Mi' } },
            securityContext: {
              allowPrivilegeEscalation: false,
              runAsNonRoot: true,
              runAsUser: 65_532,
              capabilities: { drop: ['ALL'] },
              seccompProfile: { type: 'RuntimeDefault' },
            },
          },
          own,
        ],
      },
    ])
  })

  it('gets none on Windows, which cannot be disturbed', () => {
    expect(handlerChange(pod({ spec: { os: { name: 'windows' } } }), HANDLER)).toEqual([])
  })

  it.each([
    ['5m', '5m0s'],
    ['90s', '1m30s'],
    ['48h', '1h0m0s'],
    ['soon', '1m0s'],
    ['-5m', '1m0s'],
    ['0s', '1m0s'],
  ])('waits as long as its annotation says, %s, within what operators allow', (given, expected) => {
    expect(argsOf({ 'chaos.datadoghq.com/disrupt-on-init-timeout': given })).toEqual(['--timeout', expected])
  })

  it.each(['true', ''])('starts anyway with the annotation "%s"', (value) => {
    const annotations = { 'chaos.datadoghq.com/disrupt-on-init-succeed-on-timeout': value }
    expect(argsOf(annotations)).toEqual(['--timeout', '1m0s', '--succeed-on-timeout'])
  })

  it('gets the container once, and none if operators have disabled it', () => {
    const spec = { initContainers: [{ name: 'chaos-handler', image: 'other' }] }
    expect(handlerChange(pod({ spec }), HANDLER)).toEqual([])
    expect(handlerChange(pod(), { ...HANDLER, enabled: false })).toEqual([])
  })
})

describe('a pod without that label', () => {
  it.each([[pod({ labels: { app: 'web' } })], [{}], [{ metadata: null, spec: 'odd' }]])('stays unchanged', (one) => {
    expect(handlerChange(one, HANDLER)).toEqual([])
  })
})

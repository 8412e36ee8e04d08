// The first steps of each pass: record the chaos namespace and the spec, and take over Disruptions that
// chaos-controller has begun. Source: seeds/chaos-controller.txt "Injection phase", step 2; spec/chaos.md 1.7, 1.8,
// 2.5.
//
// T1. Taking over precedes recording the spec: while one chaos pod is not adopted, the next pass tries again, and no
//   chaos pod is created. Adopted chaos pods keep running, so nothing is injected twice.
// T2. A Disruption without a status was never begun, so no request is needed: chaos-controller writes the targets into
//   the status before it creates chaos pods.

import { action, again, done } from '../../kit/index.ts'
import { type DisruptionPass, statusIn, configOf, chaosNamespaceIn } from './pass.ts'
import { recordedChaosNamespaceOf } from '../config.ts'
import { DISRUPTION_KIND, kindNamesOf, manifestAnnotations } from '../contract.ts'
import { goDurationOfMs } from '../go-duration.ts'
import { specHash } from './spec-hash.ts'
import { durationOf } from './times.ts'

export const takeOver = action<DisruptionPass>('takeOver', async (pass) => {
  const { target, state, status, act } = pass
  const { originalSpec, injectionStatus, targetInjections } = target.status ?? {}
  const isBegun = injectionStatus !== undefined || targetInjections !== undefined
  // T2
  if (originalSpec !== undefined || !(isBegun || target.metadata.deletionTimestamp !== undefined)) return done
  // The current status format has targets as keys; the list of names is the format of 2021.
  if (statusIn(pass).targets === undefined && targetInjections !== undefined)
    status.targets = Object.keys(targetInjections).sort()
  const own = new Set(state.chaosPods.map(({ metadata }) => metadata.uid))
  const others = (await pass.refresh('labelledChaosPods')).filter(({ metadata }) => !own.has(metadata.uid))
  if (others.length === 0) return done
  await Promise.all(
    others.map(async (pod) => {
      const { apiVersion, kind, metadata } = pod
      const { name, namespace } = metadata
      await act.apply(
        { apiVersion, kind, metadata: { name, namespace } },
        { owner: 'label', adopt: true, expected: pod },
      )
    }),
  )
  await act.event({
    type: 'Normal',
    reason: 'TakenOver',
    message: `${others.length} chaos pods of chaos-controller are adopted: their effects continue until this Disruption ends`,
  })
  // The next pass sees the chaos pods as its own.
  return again(0)
})

export const recordChaosNamespace = action<DisruptionPass>('rememberHome', (pass) => {
  const { status = {} } = pass.target
  const { chaosNamespace: configured } = configOf(pass).injector
  const namespace = recordedChaosNamespaceOf(status, configured)
  if (status.chaosNamespace !== undefined || namespace === configured) return done
  pass.status.chaosNamespace = namespace
  // This pass has read the other namespace.
  return again(0)
})

export const recordSpec = action<DisruptionPass>('keepSpec', async (pass) => {
  const { target, status, act } = pass
  const { metadata, spec, status: before } = target
  status.chaosNamespace = chaosNamespaceIn(pass)
  const hash = specHash(spec)
  // A hash without the spec is from chaos-controller of 2021.
  const recordedHash = before?.originalSpec === undefined ? undefined : before.specHash
  if (recordedHash === undefined) {
    status.specHash = hash
    // Later changes of the default duration do not apply to this Disruption.
    const duration = goDurationOfMs(durationOf(spec, configOf(pass).controller.defaultDurationMs))
    const originalSpec = { ...spec, duration }
    status.originalSpec = originalSpec
    const whom = `${spec.level === 'node' ? 'nodes' : 'pods'}, count ${spec.count}`
    const message = `${kindNamesOf(spec).join(', ')} of ${whom}, for ${duration}`
    const annotations = manifestAnnotations(DISRUPTION_KIND, target, originalSpec)
    await act.event({ type: 'Normal', reason: 'Created', message, annotations })
    return done
  }
  if (recordedHash !== hash)
    await act.event({
      type: 'Warning',
      reason: 'Mutated',
      occasion: String(metadata.generation),
      message:
        'the change of the spec has no effect, because a Disruption keeps the spec of its creation; create another Disruption',
    })
  return done
})

// Keeps the spec that is carried out, with its hash, when a Disruption is first looked at. Source: seeds/chaos-controller.txt "Injection phase", step 2;
// spec/chaos.md 1.8.

import { action, done } from '../../kit/index.ts'
import { DISRUPTION_KIND, kindNamesOf } from '../contract.ts'
import { eventManifest } from '../event-manifest.ts'
import { goDurationOfMs } from '../go-duration.ts'
import { chaosNamespaceIn, configOf, type DisruptionPass } from './pass.ts'
import { specHash } from './spec-hash.ts'
import { durationOf } from './times.ts'

export const keepSpec = action<DisruptionPass>('keepSpec', async (pass) => {
  const { target, status, act } = pass
  const { metadata, spec, status: before } = target
  status.chaosNamespace = chaosNamespaceIn(pass)
  const hash = specHash(spec)
  // A hash without the spec is chaos-controller's of 2021.
  const known = before?.originalSpec === undefined ? undefined : before.specHash
  if (known === undefined) {
    status.specHash = hash
    // How long it lasts does not change with what the operators set later.
    const duration = goDurationOfMs(durationOf(spec, configOf(pass).controller.defaultDurationMs))
    const originalSpec = { ...spec, duration }
    status.originalSpec = originalSpec
    const whom = `${spec.level === 'node' ? 'nodes' : 'pods'}, count ${spec.count}`
    const message = `${kindNamesOf(spec).join(', ')} of ${whom}, for ${duration}`
    const annotations = eventManifest(DISRUPTION_KIND, target, originalSpec)
    await act.event({ type: 'Normal', reason: 'Created', message, annotations })
    return done
  }
  if (known !== hash)
    await act.event({
      type: 'Warning',
      reason: 'Mutated',
      occasion: String(metadata.generation),
      message: 'the spec has changed, which has no effect: a Disruption is what it was when it was made',
    })
  return done
})

// The init container by which a pod waits to be disturbed before its containers start. A pure function of the pod and of how the operators set it up.
// Source: spec/chaos.md 2.10 "Pod mutation".
//
//   H1. A pod has one of it, the first of its init containers: nothing of the pod runs before it, and it is made once however often it is asked for.
//   H2. What is no duration is passed over: a mutation refuses nothing.
//   H3. A namespace that takes none but restricted pods takes one with it, too.

import type { FieldChange } from '../../../kit/index.ts'
import type { ChaosConfig } from '../../config.ts'
import {
  DISRUPT_ON_INIT_LABEL,
  DISRUPT_ON_INIT_SUCCEED_ON_TIMEOUT_ANNOTATION,
  DISRUPT_ON_INIT_TIMEOUT_ANNOTATION,
  HANDLER_CONTAINER,
} from '../../contract.ts'
import { durationMs, goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf } from '../../json-fields.ts'

/** The mutation that depends on the configuration. */
export const HANDLER_MUTATION = 'chaos-handler'

export function handlerChange(pod: object, handler: ChaosConfig['handler']): readonly FieldChange[] {
  const { metadata, spec } = fieldsOf(pod)
  const { labels, annotations } = fieldsOf(metadata)
  const found = fieldsOf(spec)['initContainers']
  const before: readonly unknown[] = Array.isArray(found) ? found : []
  const isThere = before.some((one) => fieldsOf(one)['name'] === HANDLER_CONTAINER)
  // H1
  if (!handler.enabled || isThere || isWindows(spec) || fieldsOf(labels)[DISRUPT_ON_INIT_LABEL] === undefined) return []
  const container = handlerContainer(handler, fieldsOf(annotations))
  return [{ path: ['spec', 'initContainers'], value: [container, ...before] }]
}

/** Nothing there can be disturbed, and its API refuses what else a container may say of its security. */
function isWindows(spec: unknown): boolean {
  return fieldsOf(fieldsOf(spec)['os'])['name'] === 'windows'
}

/** H3. Any number but 0: the handler has no file of its own. */
const NOBODY = 65_532

function handlerContainer(
  { image, cpu, memory, timeoutMs, maxTimeoutMs }: ChaosConfig['handler'],
  annotations: Readonly<Record<string, unknown>>,
): object {
  const given = durationMs(annotations[DISRUPT_ON_INIT_TIMEOUT_ANNOTATION])
  // H2
  const wanted = given === undefined || given <= 0 ? timeoutMs : given
  const succeeds = annotations[DISRUPT_ON_INIT_SUCCEED_ON_TIMEOUT_ANNOTATION] !== undefined
  const resources = { cpu, memory }
  return {
    name: HANDLER_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: [
      ...['--timeout', goDurationOfMs(Math.min(wanted, maxTimeoutMs))],
      ...(succeeds ? ['--succeed-on-timeout'] : []),
    ],
    resources: { limits: resources, requests: resources },
    // H3
    securityContext: {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      runAsUser: NOBODY,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}

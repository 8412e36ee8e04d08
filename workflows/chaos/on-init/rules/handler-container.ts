// Builds the init container in which a pod waits for its disruption (`onInit`). A pure function of the pod and the
// configuration. Source: spec/chaos.md 2.10 "Pod mutation".
//
// H1. The handler is the first init container, so nothing of the pod runs before it. A repeated mutation adds no second
//   one.
// H2. An invalid duration in the annotation is ignored, because a mutation rejects nothing.
// H3. The container meets the restricted Pod Security Standard.

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

/** The name of the mutation that needs the configuration. */
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

/** Windows pods cannot be disturbed, and their API refuses the other security fields. */
function isWindows(spec: unknown): boolean {
  return fieldsOf(fieldsOf(spec)['os'])['name'] === 'windows'
}

/** H3. Any UID but 0: the handler has no files of its own. */
const HANDLER_UID = 65_532

function handlerContainer(
  { image, cpu, memory, timeoutMs, maxTimeoutMs }: ChaosConfig['handler'],
  annotations: Readonly<Record<string, unknown>>,
): object {
  const annotatedMs = durationMs(annotations[DISRUPT_ON_INIT_TIMEOUT_ANNOTATION])
  // H2
  const requestedMs = annotatedMs === undefined || annotatedMs <= 0 ? timeoutMs : annotatedMs
  const succeeds = annotations[DISRUPT_ON_INIT_SUCCEED_ON_TIMEOUT_ANNOTATION] !== undefined
  const resources = { cpu, memory }
  return {
    name: HANDLER_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: [
      ...['--timeout', goDurationOfMs(Math.min(requestedMs, maxTimeoutMs))],
      ...(succeeds ? ['--succeed-on-timeout'] : []),
    ],
    resources: { limits: resources, requests: resources },
    // H3
    securityContext: {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      runAsUser: HANDLER_UID,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}

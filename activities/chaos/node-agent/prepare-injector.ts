// What the injector of a pod is started with on this machine. Where a container has a file system of its own, it has folders of its own, and
// variables that say where they are.

import {
  argumentsOutside,
  containerVariables,
  isOfNode,
  needsProcess,
  pathOutside,
  readProcesses,
} from '../../../workflows/chaos/node-agent/container.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { isNotFound } from '../../kube/errors.ts'
import { textOf } from '../injector/log.ts'
import type { PodFolder } from './pod-folder.ts'
import { type Prepared, SIMULATED_VARIABLE, Unstartable } from './process-run.ts'
import { PODS, type SeenPod } from './read-pod.ts'

export interface InjectorSettings {
  readonly kube: Pick<KubeClient, 'request'>
  /** Program and first arguments of the injector. */
  readonly command: readonly string[]
  /** Of the agent's own variables those that the injector gets. */
  readonly env: Readonly<Record<string, string>>
  /** Where injectors write down what they have to undo. One for all: a sweep leaves alone what stands in the notes of those that live. */
  readonly stateFolder: string
  readonly hostIP: string
  readonly podIP: string
  /** Whether a disruption of level node is let loose on this machine. */
  readonly mayDisturbNode: boolean
  /** Whether a target without a process is simulated; else its injector fails. */
  readonly simulates: boolean
  /** Of targets: which processes stand for their containers. */
  readonly processesAnnotation: string
}

/** Of the agent's variables what a program needs to run, to reach the API server, and to know how this machine is disturbed; no more: an injector is nobody's confidant. */
const INHERITED =
  /^(?:PATH|HOME|USER|LANG|LC_.*|TZ|KUBECONFIG|KUBERNETES_SERVICE_(?:HOST|PORT)|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NO_PROXY|HTTPS_PROXY|NO_COLOR|CHAOS_INJECTOR_NETWORK_BACKEND)$/

export function inheritedVariables(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && INHERITED.test(name) ? [[name, value]] : [],
    ),
  )
}

/** @throws Unstartable for a pod that no process can stand for; KubeError when its target cannot be read now. */
export async function prepareInjector(settings: InjectorSettings, pod: SeenPod, folder: PodFolder): Promise<Prepared> {
  const { args, mounts, probe } = pod.container
  const isNode = isOfNode(args)
  if (isNode && !settings.mayDisturbNode && !settings.simulates)
    throw new Unstartable('--level node: this machine itself would be disturbed, expected --node-level allow')
  const processes = await readTarget(settings, pod)
  const isSimulated =
    settings.simulates && (isNode ? !settings.mayDisturbNode : needsProcess(args) && processes === undefined)
  const variables = variablesOf(settings, pod)
  const files = { sysrq: folder.inside('sysrq'), trigger: folder.inside('sysrq-trigger') }
  return {
    argv: [...settings.command, ...argumentsOutside(args, mounts)],
    env: {
      ...settings.env,
      ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, pathOutside(value, mounts)])),
      TMPDIR: folder.inside('tmp'),
      CHAOS_INJECTOR_STATE: settings.stateFolder,
      ...(probe !== undefined && { CHAOS_INJECTOR_READINESS_FILE: folder.inside(probe.file) }),
      ...(processes !== undefined && { CHAOS_INJECTOR_CONTAINERS: folder.containers }),
      ...(isSimulated && { [SIMULATED_VARIABLE]: 'yes' }),
      CHAOS_INJECTOR_TERMINATION_LOG: folder.message,
      // The machine under this agent is somebody's, not a node that may be lost: what would crash it is written into files.
      CHAOS_INJECTOR_MOUNT_SYSRQ: files.sysrq,
      CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER: files.trigger,
    },
    files: {
      [files.sysrq]: '',
      [files.trigger]: '',
      [folder.message]: '',
      ...(processes !== undefined && { [folder.containers]: JSON.stringify(processes) }),
    },
  }
}

function variablesOf(settings: InjectorSettings, pod: SeenPod): Readonly<Record<string, string>> {
  try {
    return containerVariables(pod.container.env, fieldsOf(settings, pod))
  } catch (error) {
    throw new Unstartable(textOf(error))
  }
}

function fieldsOf({ hostIP, podIP }: InjectorSettings, { uid, namespace, name, nodeName }: SeenPod) {
  return {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': nodeName,
    'status.hostIP': hostIP,
    'status.podIP': podIP,
  }
}

/** Which processes stand for containers of the target; undefined: it does not say. */
async function readTarget({ kube, processesAnnotation }: InjectorSettings, { target }: SeenPod) {
  if (target.namespace === '' || target.name === '') return undefined
  try {
    const pod = await kube.request<KubeObject>('GET', resourcePath(PODS, target.namespace, target.name))
    return processesOf(pod, processesAnnotation)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Of a target. @throws Unstartable when the annotation is something else. */
export function processesOf(
  { metadata }: KubeObject,
  annotation: string,
): Readonly<Record<string, number>> | undefined {
  const text = metadata.annotations?.[annotation]
  try {
    return text === undefined ? undefined : readProcesses(text)
  } catch (error) {
    throw new Unstartable(`${annotation} of pod ${metadata.namespace ?? ''}/${metadata.name}: ${textOf(error)}`)
  }
}

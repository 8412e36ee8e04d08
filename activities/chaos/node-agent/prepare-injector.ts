// Builds the command line and environment of an injector process without a container: folders of the pod replace the
// container's file system.

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
import { textOf, type Log } from '../injector/log.ts'
import { type PodFolder, replaceFile } from './pod-folder.ts'
import { type Prepared, SIMULATED_VARIABLE, Unstartable } from './process-run.ts'
import { PODS, type AgentPod } from './read-pod.ts'
import { followObjects } from '../../kube/follow-objects.ts'

export interface InjectorSettings {
  readonly kube: Pick<KubeClient, 'request'>
  /** Program and first arguments of the injector. */
  readonly command: readonly string[]
  /** The agent's variables that the injector inherits. */
  readonly env: Readonly<Record<string, string>>
  /** The undo log, shared by all injectors: a clean-up skips entries of living injectors. */
  readonly stateFolder: string
  readonly hostIP: string
  readonly podIP: string
  /** Whether disruptions of level node may disturb this machine. */
  readonly mayDisturbNode: boolean
  /** Whether a target without a process is simulated; otherwise its injector fails. */
  readonly simulates: boolean
  /** The annotation of targets that maps container names to processes. */
  readonly processesAnnotation: string
}

/**
 * The agent's variables that a program needs to run, to reach the API server, and to choose the backend. No other
 * variables are passed to injectors.
 */
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

/** @throws Unstartable for a pod that no process can run; KubeError if its target cannot be read. */
export async function prepareInjector(settings: InjectorSettings, pod: AgentPod, folder: PodFolder): Promise<Prepared> {
  const { args, mounts, probe } = pod.container
  const isNode = isOfNode(args)
  if (isNode && !settings.mayDisturbNode && !settings.simulates)
    throw new Unstartable(
      '--level node: it would disturb this machine; start the node agent with --node-level allow to permit it',
    )
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
      // This machine is not a disposable node, so the files that would crash it are replaced.
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

function variablesOf(settings: InjectorSettings, pod: AgentPod): Readonly<Record<string, string>> {
  try {
    return containerVariables(pod.container.env, fieldsOf(settings, pod))
  } catch (error) {
    throw new Unstartable(textOf(error))
  }
}

function fieldsOf({ hostIP, podIP }: InjectorSettings, { uid, namespace, name, nodeName }: AgentPod) {
  return {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': nodeName,
    'status.hostIP': hostIP,
    'status.podIP': podIP,
  }
}

/** The target's processes by container name; undefined without the annotation. */
async function readTarget({ kube, processesAnnotation }: InjectorSettings, { target }: AgentPod) {
  if (target.namespace === '' || target.name === '') return undefined
  try {
    const pod = await kube.request<KubeObject>('GET', resourcePath(PODS, target.namespace, target.name))
    return processesOf(pod, processesAnnotation)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The processes in a target's annotation. @throws Unstartable if the annotation is invalid. */
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

export interface TargetProcesses {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly annotation: string
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Writes each change of the annotation to the containers file, until the signal. A missing target or annotation changes
 * nothing. Never rejects.
 */
export async function followTarget(
  { target, name }: AgentPod,
  folder: PodFolder,
  { kube, annotation, log, signal }: TargetProcesses,
): Promise<void> {
  const query = { fieldSelector: `metadata.name=${target.name}` }
  let written: string | undefined
  for await (const found of followObjects(kube, resourcePath(PODS, target.namespace), { query, signal })) {
    if (found.type === 'interrupted') continue
    const object = found.type === 'listed' ? found.objects[0] : found.object
    if (object === undefined) continue
    try {
      const processes = processesOf(object, annotation)
      const text = processes === undefined ? written : JSON.stringify(processes)
      if (text === undefined || text === written) continue
      await replaceFile(folder.containers, text)
      written = text
    } catch (error) {
      log.warn('the injector cannot read its target', { pod: name, error: textOf(error) })
    }
  }
}

// Builds the command line and environment of an injector process without a container: folders of the pod replace the
// container's file system.

import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { DISRUPTION_NAMESPACE_LABEL, TARGET_LABEL } from '../../../workflows/chaos/contract.ts'
import {
  argumentsOutside,
  isOfNode,
  needsProcess,
  pathOutside,
  probedFile,
  readProcesses,
} from '../../../workflows/chaos/pods/container.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { followObjects } from '../../kube/follow-objects.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { type ContainerProcess, type PodContainer, type PodLog, UnstartableError } from '../../pods.ts'
import { textOf } from '../injector/log.ts'

const PODS = { apiVersion: 'v1', plural: 'pods' }
/** Marks a target without a process for the injector. */
export const SIMULATED_VARIABLE = 'CHAOS_INJECTOR_SIMULATED'

export interface InjectorSettings {
  readonly kube: Pick<KubeClient, 'request'>
  /** Program and first arguments of the injector. */
  readonly command: readonly string[]
  /** The agent's variables that the injector inherits. */
  readonly env: Readonly<Record<string, string>>
  /** The undo log, shared by all injectors: a clean-up skips entries of living injectors. */
  readonly stateFolder: string
  readonly hostIP: string
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

/** JSON: maps the target's container names to processes. */
export function containersFile({ root }: Pick<PodContainer, 'root'>): string {
  return join(root, 'containers.json')
}

/** @throws UnstartableError for a pod that no process can run; KubeError if its target cannot be read. */
export async function injectorProcess(settings: InjectorSettings, container: PodContainer): Promise<ContainerProcess> {
  const { args, env, outside, terminationLog, root } = container
  const mounts = container.mounts.map(({ path, outside: hostPath }) => ({ path, hostPath }))
  const isNode = isOfNode(args)
  if (isNode && !settings.mayDisturbNode && !settings.simulates)
    throw new UnstartableError(
      '--level node: it would disturb this machine; start the node agent with --node-level allow to permit it',
    )
  const readinessFile = probedFileOf(container)
  const processes = await readTarget(settings, targetOf(container.pod))
  const isSimulated =
    settings.simulates && (isNode ? !settings.mayDisturbNode : needsProcess(args) && processes === undefined)
  const files = { sysrq: outside('/sysrq'), trigger: outside('/sysrq-trigger') }
  await mkdir(settings.stateFolder, { recursive: true, mode: 0o700 })
  return {
    argv: [...settings.command, ...argumentsOutside(args, mounts)],
    env: {
      ...settings.env,
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, pathOutside(value, mounts)])),
      TMPDIR: outside('/tmp'),
      CHAOS_INJECTOR_STATE: settings.stateFolder,
      ...(readinessFile !== undefined && { CHAOS_INJECTOR_READINESS_FILE: outside(readinessFile) }),
      ...(processes !== undefined && { CHAOS_INJECTOR_CONTAINERS: containersFile({ root }) }),
      ...(isSimulated && { [SIMULATED_VARIABLE]: 'yes' }),
      CHAOS_INJECTOR_TERMINATION_LOG: terminationLog,
      // This machine is not a disposable node, so the files that would crash it are replaced.
      CHAOS_INJECTOR_MOUNT_SYSRQ: files.sysrq,
      CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER: files.trigger,
    },
    files: {
      [files.sysrq]: '',
      [files.trigger]: '',
      [terminationLog]: '',
      ...(processes !== undefined && { [containersFile({ root })]: JSON.stringify(processes) }),
    },
  }
}

/** The file of the readiness probe. @throws UnstartableError for another probe. */
function probedFileOf({ spec }: PodContainer): string | undefined {
  const { readinessProbe } = spec as {
    readonly readinessProbe?: { readonly exec?: { readonly command?: readonly string[] } }
  }
  try {
    return readinessProbe === undefined ? undefined : probedFile(readinessProbe.exec?.command ?? [])
  } catch (error) {
    throw new UnstartableError(textOf(error))
  }
}

interface Target {
  readonly namespace: string
  readonly name: string
}

/** The annotation contains names that are too long for a label. */
function targetOf({ metadata: { labels = {}, annotations = {} } }: KubeObject): Target {
  return {
    namespace: labels[DISRUPTION_NAMESPACE_LABEL] ?? '',
    name: annotations[TARGET_LABEL] ?? labels[TARGET_LABEL] ?? '',
  }
}

/** The target's processes by container name; undefined without the annotation. */
async function readTarget({ kube, processesAnnotation }: InjectorSettings, target: Target) {
  if (target.namespace === '' || target.name === '') return undefined
  try {
    const pod = await kube.request<KubeObject>('GET', resourcePath(PODS, target.namespace, target.name))
    return processesOf(pod, processesAnnotation)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The processes in a target's annotation. @throws UnstartableError if the annotation is invalid. */
export function processesOf(
  { metadata }: KubeObject,
  annotation: string,
): Readonly<Record<string, number>> | undefined {
  const text = metadata.annotations?.[annotation]
  try {
    return text === undefined ? undefined : readProcesses(text)
  } catch (error) {
    throw new UnstartableError(`${annotation} of pod ${metadata.namespace ?? ''}/${metadata.name}: ${textOf(error)}`)
  }
}

export interface TargetProcesses {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly annotation: string
  readonly log: PodLog
  readonly signal: AbortSignal
}

/**
 * Writes each change of the annotation to the containers file, until the signal. A missing target or annotation changes
 * nothing. Never rejects.
 */
export async function followTarget(
  container: PodContainer,
  { kube, annotation, log, signal }: TargetProcesses,
): Promise<void> {
  const target = targetOf(container.pod)
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
      await replaceFile(containersFile(container), text)
      written = text
    } catch (error) {
      log.warn({ pod: container.pod.metadata.name, error: textOf(error) }, 'the injector cannot read its target')
    }
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

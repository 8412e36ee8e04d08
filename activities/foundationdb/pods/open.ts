// The processes that replace the containers of FoundationDB's pods.
//
// P1. A container finds the tools of its image's version in `/usr/bin`, as in FoundationDB's images.
// P2. A process finds its files at the paths of the container (`OpenPods.fileSystem`). Where the machine permits no mount
//     namespaces, only simulated tools can run: they translate paths themselves (simulator/container-root.ts), and paths
//     of volumes in commands and arguments are translated here for the shell.
// P3. A command that does not exist ends with exit code 127, as `crash-loop` of `spec.buggify` has to.

import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { INIT_CONTAINER, SIDECAR_CONTAINER } from '../../../workflows/foundationdb/contract.ts'
import { ActivityError, type FlagValues } from '../../../workflows/kit/index.ts'
import {
  type AgentPlace,
  type ContainerProcess,
  type OpenPods,
  type PodContainer,
  UnstartableError,
} from '../../pods.ts'
import { findTools, type ToolName } from '../database/tools.ts'
import { isSimulator, writeExecutables } from '../simulator/bin.ts'
import type { ToolFlags } from './flags.ts'

const TOOLS: readonly ToolName[] = ['fdbserver', 'fdbmonitor', 'fdbcli', 'fdbbackup', 'fdbrestore', 'backup_agent']
const NEEDED_TOOLS: readonly ToolName[] = ['fdbserver', 'fdbmonitor', 'fdbcli']
/** Variables of the node agent that containers get: settings of the simulator, and the place of libraries. */
const PASSED_VARIABLES = ['FDB_SIM_TIME_SCALE', 'FDB_SIM_BLOBSTORE', 'LD_LIBRARY_PATH']

export async function open({ 'fdb-bin': folder }: FlagValues<ToolFlags>, place: AgentPlace): Promise<OpenPods> {
  if (folder !== undefined) await access(folder)
  return {
    ...(place.mountProblem === undefined && { fileSystem: 'container' }),
    process: async (container) => {
      const version = versionOf(container)
      const tools = await toolsOf(version, folder, place)
      const image = Object.fromEntries([...tools].map(([name, path]) => [`/usr/bin/${name}`, path]))
      return { ...processOf(container, version, place), image }
    },
  }
}

function processOf(container: PodContainer, version: string, place: AgentPlace): ContainerProcess {
  const { name, command, args, root, podIP } = container
  const isMounted = place.mountProblem === undefined
  const translate = (text: string): string => (isMounted ? text : translatePaths(text, container))
  const env = environmentOf(container, place)
  if ([SIDECAR_CONTAINER, INIT_CONTAINER].includes(name) && command.length === 0) {
    const own = ['--root', isMounted ? '/' : root, '--pod-ip', podIP, '--own-version', version]
    return { argv: [...place.pawl, 'fdb-sidecar', ...own, ...args], env }
  }
  if (command.length === 0) {
    throw new UnstartableError(
      `container "${name}": command is missing; only images of type split run on a machine without kubelet`,
    )
  }
  return { argv: ['/usr/bin/env', ...command.map(translate), ...args.map(translate)], env }
}

function environmentOf(
  { root, env, pod }: PodContainer,
  { env: ownEnv, agentEnv, mountProblem }: AgentPlace,
): ContainerProcess['env'] {
  const passed = PASSED_VARIABLES.flatMap((name) => {
    const value = agentEnv[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    HOSTNAME: pod.metadata.name,
    ...Object.fromEntries(passed),
    ...env,
    ...(mountProblem !== undefined && { FDB_SIM_ROOT: root }),
    PATH: [mountProblem === undefined ? '/usr/bin' : join(root, 'usr/bin'), ownEnv['PATH'] ?? ''].join(':'),
  }
}

/** The tools of a version. P2. */
async function toolsOf(version: string, folder: string | undefined, place: AgentPlace): Promise<Map<ToolName, string>> {
  const base = folder ?? join(writeExecutables(join(place.folder, 'fdb-bin', version), process.execPath, version), '..')
  const tools = findTools(base, place.agentEnv)
  const found = await Promise.all(
    TOOLS.map(async (name) => {
      const path = await tools.find(name, version).catch((error: unknown) => {
        // The node agent retries if a tool does not answer in time.
        if (error instanceof ActivityError && error.code === 'ToolNotFound') return undefined
        throw error
      })
      return path === undefined ? [] : [[name, path] as const]
    }),
  )
  const paths = new Map(found.flat())
  const missing = NEEDED_TOOLS.filter((name) => !paths.has(name))
  if (missing.length > 0)
    throw new UnstartableError(
      `folder "${base}": found no ${missing.join(', no ')} of version "${version}"; install it there`,
    )
  if (place.mountProblem === undefined || isSimulator(dirname(paths.get('fdbserver') ?? ''))) return paths
  throw new UnstartableError(
    `folder "${base}": FoundationDB's tools need mount namespaces, which this machine does not permit: ${place.mountProblem}`,
  )
}

/** The version in the tag of the image, for example of `foundationdb/foundationdb-kubernetes-sidecar:7.1.67-1`. */
function versionOf({ name, image }: PodContainer): string {
  const version = /:(\d+\.\d+\.\d+)(?:-[\w.-]+)?$/.exec(image)?.[1]
  if (version !== undefined) return version
  throw new UnstartableError(
    `container "${name}": image: found '${image}'; expected a tag with a version such as 7.1.67`,
  )
}

/** P2. */
function translatePaths(text: string, { mounts, outside }: PodContainer): string {
  const isMounted = (path: string): boolean =>
    mounts.some((mount) => path === mount.path || path.startsWith(`${mount.path}/`))
  return text.replaceAll(/(?<![\w./-])\/[\w./-]+/g, (path) => (isMounted(path) ? outside(path) : path))
}

// The interface of a wing's pods: on a machine without a kubelet, the node agent (worker/node-agent/) runs them as
// processes. kwok, which simulates all other pods there, ignores pods with a declared label. For development and tests.

import type { FlagTable, FlagValues } from '../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from './kube/client.ts'

/** The value that `<wing>/pods.ts` exports. A test passes a module with one as `pawl node-agent --pods FILE`. */
export interface WingPods<Flags extends FlagTable = FlagTable> {
  /** The pods are those with at least one of these label keys. No other wing may declare the same key. */
  readonly labels: readonly string[]
  /** Additional flags of `pawl node-agent`. */
  readonly flags: Flags
  readonly inDev?: PodsInDev
  /** Loaded by the node agent only. `open` is called once, before the first pod. @throws if a flag has an unusable value. */
  readonly load: () => Promise<{ open(flags: FlagValues<Flags>, place: AgentPlace): OpenPods | Promise<OpenPods> }>
}

export interface DevPlace {
  readonly kubeconfigPath: string
  /** The state folder of the node agent. */
  readonly folder: string
  /** Whether `pawl dev` started the API server, with simulated nodes and pods. */
  readonly isServerOurs: boolean
  /** Given flags of wings, by name. */
  readonly flags: Readonly<Record<string, string | undefined>>
  /** The variables of `pawl dev`. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Returns the folder with the verified programs in Pawl's cache. @throws with the reason, within seconds if offline. */
  readonly download: (release: Release) => Promise<string>
  /** As in `AgentPlace`. */
  readonly mountProblem: () => Promise<string | undefined>
}

/** Published programs. Each URL has a file with its SHA-256 digest, with the suffix `.sha256`. */
export interface Release {
  readonly name: string
  readonly version: string
  /** Such as `linux-amd64`. */
  readonly platforms: readonly string[]
  /** URLs by file names. */
  readonly programs: Readonly<Record<string, string>>
  /** Further names of programs. */
  readonly links: Readonly<Record<string, string>>
}

/** The settings of an enabled wing's pods in `pawl dev`. */
export interface PodsInDev {
  /** Prepares the machine before the first process of the wing starts; absent: nothing. @throws with the problem. */
  readonly prepare?: (dev: DevPlace) => Promise<PreparedWing>
  /** Values of `WingPods.flags` for the node agent. @throws if the wing's configuration is invalid. */
  readonly flags: (dev: DevPlace) => Promise<Readonly<Record<string, string>>>
  /** Adapts a manifest of `deploy/setup/<wing>/` to the wing's flags; absent: unchanged. */
  readonly setUp?: (manifest: string, flags: DevPlace['flags']) => Promise<string>
}

export interface PreparedWing {
  /** Values of the wing's flags that the user did not set. */
  readonly flags: Readonly<Record<string, string>>
  /** Variables of all processes that `pawl dev` starts for Pawl, unless the user set them; absent: none. */
  readonly env?: Readonly<Record<string, string>>
  /** A line for the user. */
  readonly note: string
}

/** Facts about the machine that the pods of a wing share. */
export interface AgentPlace {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  /** A folder for files of the wing that outlive its pods. It exists. */
  readonly folder: string
  /** `status.hostIP` of all pods. */
  readonly hostIP: string
  /** Why `OpenPods.fileSystem` cannot be `container` on this machine; undefined: it can. */
  readonly mountProblem: string | undefined
  /** The agent's variables that any program needs, such as PATH, HOME and LANG. */
  readonly env: Readonly<Record<string, string>>
  /** All variables of the agent. A wing passes on only those that it names. */
  readonly agentEnv: Readonly<Record<string, string | undefined>>
  /** The agent's kubeconfig; undefined: the account of its pod. */
  readonly kubeconfig: string | undefined
  /** The command line that starts `pawl`; arguments are appended. */
  readonly pawl: readonly string[]
  readonly log: PodLog
}

export interface PodLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** The pods of a wing, and the processes that replace their containers. */
export interface OpenPods {
  /** The agent runs pods in this namespace only; absent: in all namespaces. */
  readonly namespace?: string
  /** `host`: the pods have the address of the machine; default: each pod has its own address in 127.0.0.0/8. */
  readonly address?: 'host'
  /** `status.podIP` for the address on which the pod listens; default: this address. The API server cannot connect to loopback addresses. */
  readonly reportedIP?: (podIP: string) => string
  /** Pods may mount paths of this machine; default: such pods do not start. */
  readonly allowsHostPaths?: true
  /** Only host paths are mounted, because the processes read no other volume; default: all volumes. */
  readonly skipsVolumes?: true
  /**
   * `container`: each process finds mounts, and the files of `ContainerProcess.image`, at the paths of its container,
   * and the files of this machine at all other paths. Default: it sees the files of this machine only.
   */
  readonly fileSystem?: 'container'
  /**
   * The process of a container or init container.
   *
   * @throws UnstartableError if it can never start; any other error is retried.
   */
  readonly process: (container: PodContainer) => Promise<ContainerProcess>
  /** The command of an exec probe, with the environment of the container's process; default: unchanged. */
  readonly probeCommand?: (
    command: readonly string[],
    container: Pick<PodContainer, 'name' | 'outside'>,
  ) => readonly string[]
  /** Called when the container runs, also after a restart of the agent. The signal is aborted when it has ended. */
  readonly whileRunning?: (container: PodContainer, ended: AbortSignal) => void
  /**
   * Called after the pod is deleted and its processes have ended, before its folder is deleted; retried until it
   * succeeds.
   */
  readonly cleanUp?: (container: EndedContainer) => Promise<void>
  /** Additional conditions of the pod. A condition of these types that is not returned is removed. */
  readonly conditions?: {
    readonly types: readonly string[]
    readonly of: (state: PodState) => readonly PodCondition[]
  }
  /** With `--play ready`: when the simulated containers end, in milliseconds since the epoch; undefined: with the pod. */
  readonly playedUntil?: (pod: KubeObject) => number | undefined
}

/** A container that is about to start, or runs. */
export interface PodContainer {
  /** The pod when its processes were started. */
  readonly pod: KubeObject
  readonly name: string
  readonly image: string
  readonly isInit: boolean
  /** `command` and `args` of the container, with `$(VAR)` expanded. An image's own command is unknown. */
  readonly command: readonly string[]
  readonly args: readonly string[]
  /** `env` and `envFrom` of the container, resolved; only these. */
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string | undefined
  readonly podIP: string
  readonly hostIP: string
  /** 0 for the first start, and one more for each restart. */
  readonly restarts: number
  /**
   * The folder that replaces the file system of the container. A restarted container finds its files again. Without
   * `OpenPods.fileSystem`, mounts are symbolic links in it, to folders of volumes or to host paths, and it has the folder
   * `tmp`.
   */
  readonly root: string
  /** The path on this machine of an absolute path in the container. */
  readonly outside: (path: string) => string
  /** The file with the termination message, on this machine. */
  readonly terminationLog: string
  readonly mounts: readonly ContainerMount[]
  /** The container in the pod's spec. */
  readonly spec: Readonly<Record<string, unknown>>
}

export interface ContainerMount {
  readonly volume: string
  /** The path in the container. */
  readonly path: string
  /** The path on this machine. */
  readonly outside: string
  readonly isHostPath: boolean
}

export interface ContainerProcess {
  /** Program and arguments. */
  readonly argv: readonly string[]
  /** The whole environment. The agent adds one variable, `PAWL_CONTAINER`, by which it finds child processes. */
  readonly env: Readonly<Record<string, string>>
  /** Default: the root folder of the container. With `OpenPods.fileSystem`, a path in the container. */
  readonly cwd?: string
  /** Files of the container's image: absolute paths on this machine, by paths in the container. */
  readonly image?: Readonly<Record<string, string>>
  /**
   * With `OpenPods.fileSystem`: the container's complete image, unpacked in a folder of this machine. The container sees
   * its files instead of this machine's, and cannot change them.
   */
  readonly unpackedImage?: UnpackedImage
  /** Files to write before the start: texts by paths on this machine. */
  readonly files?: Readonly<Record<string, string>>
}

export interface UnpackedImage {
  readonly folder: string
  /** Numeric; the agent must be root. */
  readonly uid: number
  readonly gid: number
  /** The file of this machine that is /etc/hosts; default: the machine's. */
  readonly hosts?: string
}

export interface EndedContainer {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  readonly root: string
  /** Undefined: unknown. */
  readonly exitCode: number | undefined
}

/** The state that the agent reports next. */
export interface PodState {
  readonly pod: KubeObject
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  readonly isReady: boolean
  readonly containers: Readonly<Record<string, ContainerState>>
}

export interface ContainerState {
  /** The environment of the process; undefined: it has not started, or it is played. */
  readonly env: Readonly<Record<string, string>> | undefined
  /** The termination message so far; undefined: the process wrote none. */
  readonly message: string | undefined
}

export interface PodCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** The container can never start; the message is the reason. */
export class UnstartableError extends Error {}

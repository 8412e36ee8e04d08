// The volumes of a pod as folders of this machine, and their mounts as links in a folder.
//
// V1. Files from other objects are replaced together: a link `..data` to the folder of the new files is renamed over
//   the old link, as the kubelet does. A reader sees either all old or all new files.
// V2. The files of a pod with an fsGroup belong to this group, which the processes of an unpacked image have.
// V3. No path of the pod's spec leads out of its folders, except of host paths, which the wing must allow.

import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'

import type { KubeClient } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { type ContainerMount, UnstartableError } from '../../activities/pods.ts'
import type { AgentPod, ContainerSpec, Projection, VolumeSpec } from './agent-pod.ts'
import type { PodAddresses } from './container-env.ts'
import type { PodFolder } from './pod-folder.ts'
import { isGone } from './processes.ts'
import { type Files, objectsOf, volumeFiles } from './volume-files.ts'
import type { WatchedObjects } from './watched-objects.ts'

export interface VolumeDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly objects: WatchedObjects
  readonly folder: PodFolder
  readonly addresses: PodAddresses
  readonly allowsHostPaths: boolean
  readonly skipsVolumes: boolean
  /** The folder of a claim's data. @throws MissingValueError while the claim is not bound. */
  readonly claimFolder: (namespace: string, claim: string) => Promise<string>
  /** Called after a change of an object that the volumes use. */
  readonly onChange: () => void
  /** Aborted when the pod has ended. */
  readonly signal: AbortSignal
  readonly now: () => number
}

interface Token {
  readonly text: string
  readonly renewMs: number
}

/** The part of a token's lifetime after which it is renewed. Source: Kubernetes, kubelet. */
const TOKEN_LIFE = 0.8

export class Volumes {
  private readonly deps: VolumeDeps
  private readonly tokens = new Map<string, Token>()
  private readonly watched = new Set<string>()

  constructor(deps: VolumeDeps) {
    this.deps = deps
  }

  /** Creates the folders and brings the files up to date. @throws MissingValueError if an object is missing. */
  async sync(pod: AgentPod): Promise<void> {
    if (this.deps.skipsVolumes) return
    for (const volume of pod.volumes) {
      const path = join(this.deps.folder.volumes, volume.name)
      if (volume.is === 'emptyDir') await createFolder(path, groupOf(pod))
      if (volume.is === 'claim') await this.linkClaim(path, pod, volume.claim)
      if (volume.is === 'files') await this.syncFiles(path, volume.name, volume.sources, pod)
      if (volume.is === 'unsupported')
        throw new UnstartableError(`volume "${volume.name}": ${volume.source} is not supported by the node agent`)
    }
  }

  /** When the next token must be renewed; undefined: the pod has no token. */
  get renewMs(): number | undefined {
    const times = [...this.tokens.values()].map(({ renewMs }) => renewMs)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  private async linkClaim(path: string, pod: AgentPod, claim: string): Promise<void> {
    const target = await this.deps.claimFolder(pod.namespace, claim)
    await createFolder(target, groupOf(pod))
    await mkdir(dirname(path), { recursive: true })
    await replaceLink(path, target)
  }

  private async syncFiles(path: string, name: string, sources: readonly Projection[], pod: AgentPod): Promise<void> {
    const { objects, addresses, onChange, signal } = this.deps
    for (const used of objectsOf(sources)) {
      const key = `${used.kind}/${used.name}`
      if (this.watched.has(key)) continue
      await objects.use({ ...used, namespace: pod.namespace }, onChange, signal)
      this.watched.add(key)
    }
    for (const { serviceAccountToken: source } of sources)
      if (source !== undefined) await this.renewToken(`${name}/${source.path}`, source, pod)
    const files = volumeFiles(name, sources, pod, {
      object: (kind, object) => objects.get({ kind, namespace: pod.namespace, name: object }),
      token: (source) => this.tokens.get(`${name}/${source.path}`)?.text ?? '',
      addresses,
    })
    await replaceFiles(path, files, groupOf(pod))
  }

  private async renewToken(
    key: string,
    { audience, expirationSeconds = 3600 }: NonNullable<Projection['serviceAccountToken']>,
    pod: AgentPod,
  ): Promise<void> {
    const { kube, now } = this.deps
    const known = this.tokens.get(key)
    if (known !== undefined && now() < known.renewMs) return
    const accounts = { apiVersion: 'v1', plural: 'serviceaccounts' }
    const { status } = await kube.request<{ readonly status: { readonly token: string } }>(
      'POST',
      `${resourcePath(accounts, pod.namespace, pod.serviceAccount)}/token`,
      {
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: {
            ...(audience !== undefined && { audiences: [audience] }),
            expirationSeconds,
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid },
          },
        },
      },
    )
    this.tokens.set(key, { text: status.token, renewMs: now() + expirationSeconds * 1000 * TOKEN_LIFE })
  }

  /** The mounts of a container; their sources exist. @throws UnstartableError if a mount is impossible. */
  async mountsOf(pod: AgentPod, spec: ContainerSpec): Promise<readonly ContainerMount[]> {
    const mounts = spec.mounts.flatMap((mount) => {
      const volume = pod.volumes.find(({ name }) => name === mount.name)
      const from = volume === undefined ? undefined : this.sourceOf(volume)
      if (volume === undefined || from === undefined) return []
      const path = posix.resolve('/', mount.mountPath)
      const outside = mount.subPath === undefined ? from : join(from, posix.resolve('/', mount.subPath))
      return [{ from, mount: { volume: mount.name, path, outside, isHostPath: volume.is === 'hostPath' } }]
    })
    for (const { from, mount } of mounts) {
      const { path, outside, isHostPath } = mount
      if (path === '/') throw new UnstartableError(`container "${spec.name}": a volume cannot be mounted at /`)
      if (!isHostPath && !(await exists(outside))) await createSubPath(outside, from)
    }
    return mounts.map(({ mount }) => mount)
  }

  /** V3 */
  private sourceOf(volume: VolumeSpec): string | undefined {
    const { folder, allowsHostPaths, skipsVolumes } = this.deps
    if (volume.is !== 'hostPath') return skipsVolumes ? undefined : join(folder.volumes, volume.name)
    if (allowsHostPaths) return volume.path
    throw new UnstartableError(
      `volume "${volume.name}": hostPath "${volume.path}" is not allowed; use another kind of volume on machines without a kubelet`,
    )
  }
}

/** V2. Only root may change the group. */
function groupOf({ fsGroup }: AgentPod): number | undefined {
  return process.getuid?.() === 0 ? fsGroup : undefined
}

async function createFolder(path: string, group: number | undefined): Promise<void> {
  await mkdir(path, { recursive: true })
  if (group === undefined) return
  await chown(path, -1, group)
  await chmod(path, 0o2775)
}

/** With the permissions of the volume, as the kubelet does. */
async function createSubPath(path: string, volume: string): Promise<void> {
  await mkdir(path, { recursive: true })
  await chmod(path, (await stat(volume)).mode & 0o7777)
}

/** Creates the folder that replaces the container's file system, with links to its mounts and to files of its image. */
export async function linkMounts(
  root: string,
  mounts: readonly ContainerMount[],
  image: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const links = [...mounts.map(({ path, outside }) => [path, outside] as const), ...Object.entries(image)]
  // A mount may be inside another one.
  for (const [path, target] of links.sort(([one], [other]) => one.length - other.length)) {
    // Nothing is created on the machine itself.
    if (mounts.some((other) => other.isHostPath && path.startsWith(`${other.path}/`))) continue
    const link = join(root, path)
    await mkdir(dirname(link), { recursive: true })
    await replaceLink(link, target)
  }
  if (!mounts.some(({ path }) => path === '/tmp')) await mkdir(join(root, 'tmp'), { recursive: true })
}

/** V1. @param group may read the files; undefined: only the user of the agent may. */
export async function replaceFiles(path: string, files: Files, group?: number): Promise<void> {
  await mkdir(path, { recursive: true })
  const current = await readlink(join(path, '..data')).catch(() => undefined)
  if (current !== undefined && (await hasFiles(join(path, current), files))) return
  const version = `..${String(Date.now())}.${Math.random().toString(36).slice(2, 8)}`
  await mkdir(join(path, version))
  for (const [name, content] of Object.entries(files)) {
    const file = join(path, version, posix.resolve('/', name))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content, { mode: group === undefined ? 0o600 : 0o640 })
    if (group !== undefined) await chown(file, -1, group)
  }
  await replaceLink(join(path, '..data'), version)
  const tops = new Set(Object.keys(files).map((name) => posix.resolve('/', name).split('/')[1] ?? ''))
  for (const top of tops) await replaceLink(join(path, top), join('..data', top))
  for (const name of await readdir(path))
    if (!name.startsWith('..') && !tops.has(name)) await rm(join(path, name), { force: true })
  if (current !== undefined) await rm(join(path, current), { recursive: true, force: true })
}

async function hasFiles(path: string, files: Files): Promise<boolean> {
  const names = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => [])
  if (names.filter((entry) => entry.isFile()).length !== Object.keys(files).length) return false
  for (const [name, content] of Object.entries(files)) {
    const found = await readFile(join(path, posix.resolve('/', name))).catch(() => undefined)
    if (found?.equals(content) !== true) return false
  }
  return true
}

/** Creates the link, or replaces it atomically. */
export async function replaceLink(path: string, target: string): Promise<void> {
  const current = await readlink(path).catch((error: unknown) => {
    if (isGone(error)) return undefined
    throw error
  })
  if (current === target) return
  const next = join(dirname(path), `..new.${Math.random().toString(36).slice(2, 8)}`)
  await symlink(target, next)
  await rename(next, path)
}

async function exists(path: string): Promise<boolean> {
  return await readdir(path).then(
    () => true,
    (error: unknown) => !(isGone(error) && (error as NodeJS.ErrnoException).code === 'ENOENT'),
  )
}

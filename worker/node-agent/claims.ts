// Provides PersistentVolumes that are folders of this machine: the provisioner of the StorageClass `pawl-folder`. The
// controllers of Kubernetes bind the claims. A volume outlives the pods that use it, and is deleted with its claim.

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { isNotFound, KubeError } from '../../activities/kube/errors.ts'
import { followObjects } from '../../activities/kube/follow-objects.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { PodLog } from '../../activities/pods.ts'
import { MissingValueError } from './container-env.ts'
import { textOf } from './processes.ts'

const CLASS = 'pawl-folder'
const PROVISIONER = 'pawl.dev/folder'
/** Volumes with another value belong to another provisioner. */
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
const CLASSES = { apiVersion: 'storage.k8s.io/v1', plural: 'storageclasses' }
const CLAIMS = { apiVersion: 'v1', plural: 'persistentvolumeclaims' }
const VOLUMES = { apiVersion: 'v1', plural: 'persistentvolumes' }

interface Claim extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string
    readonly volumeName?: string
    readonly accessModes?: readonly string[]
    readonly volumeMode?: string
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> }
  }
  readonly status?: { readonly phase?: string }
}

interface Volume extends KubeObject {
  readonly spec?: { readonly hostPath?: { readonly path: string } }
  readonly status?: { readonly phase?: string }
}

export interface ClaimsDeps {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  /** Contains a folder for each volume. */
  readonly folder: string
  readonly log: PodLog
}

export class Claims {
  private readonly deps: ClaimsDeps

  constructor(deps: ClaimsDeps) {
    this.deps = deps
  }

  /** Provides and deletes volumes until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await create(this.deps.kube, resourcePath(CLASSES, undefined), {
      apiVersion: CLASSES.apiVersion,
      kind: 'StorageClass',
      metadata: { name: CLASS, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: PROVISIONER,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
    })
    await Promise.all([
      this.follow(resourcePath(CLAIMS, undefined), signal, async (claim) => await this.provide(claim)),
      this.follow(resourcePath(VOLUMES, undefined), signal, async (volume) => await this.reclaim(volume)),
    ])
  }

  /** The folder of a bound claim. @throws MissingValueError if the claim is missing or not bound. */
  async folderOf(namespace: string, name: string): Promise<string> {
    const { kube } = this.deps
    const claim = await kube.request<Claim>('GET', resourcePath(CLAIMS, namespace, name)).catch((error: unknown) => {
      if (isNotFound(error)) throw new MissingValueError(`persistentvolumeclaim "${name}" does not exist`)
      throw error
    })
    const volumeName = claim.spec?.volumeName
    if (claim.status?.phase !== 'Bound' || volumeName === undefined)
      throw new MissingValueError(`persistentvolumeclaim "${name}" is not bound`)
    const volume = await kube.request<Volume>('GET', resourcePath(VOLUMES, undefined, volumeName))
    const path = volume.metadata.annotations?.[PROVISIONED_BY] === PROVISIONER ? volume.spec?.hostPath?.path : undefined
    if (path === undefined)
      throw new MissingValueError(
        `persistentvolumeclaim "${name}": its volume is not a folder of this machine; use StorageClass "${CLASS}"`,
      )
    await mkdir(path, { recursive: true })
    return path
  }

  private async follow(
    path: string,
    signal: AbortSignal,
    handle: (object: KubeObject) => Promise<void>,
  ): Promise<void> {
    const { kube, log } = this.deps
    for await (const found of followObjects(kube, path, { signal })) {
      if (found.type === 'interrupted') continue
      for (const object of found.type === 'listed' ? found.objects : [found.object]) {
        if (found.type === 'event' && found.eventType === 'DELETED') continue
        // A later list brings the object again.
        await handle(object).catch((error: unknown) => {
          log.warn({ object: object.metadata.name, error: textOf(error) }, 'could not provide or delete a volume')
        })
      }
    }
  }

  private async provide(claim: Claim): Promise<void> {
    if (!needsVolume(claim)) return
    const { metadata, spec = {} } = claim
    const { accessModes = ['ReadWriteOnce'], volumeMode = 'Filesystem', resources = {} } = spec
    const { uid = '', namespace = '', name } = metadata
    const path = join(this.deps.folder, uid)
    await create(this.deps.kube, resourcePath(VOLUMES, undefined), {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pvc-${uid}`, annotations: { [PROVISIONED_BY]: PROVISIONER } },
      spec: {
        storageClassName: CLASS,
        persistentVolumeReclaimPolicy: 'Delete',
        capacity: { storage: resources.requests?.['storage'] ?? '1Gi' },
        accessModes,
        volumeMode,
        hostPath: { path, type: 'DirectoryOrCreate' },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      },
    })
  }

  private async reclaim({ metadata, spec, status }: Volume): Promise<void> {
    const isOurs = metadata.annotations?.[PROVISIONED_BY] === PROVISIONER
    const path = spec?.hostPath?.path
    if (!isOurs || status?.phase !== 'Released' || path === undefined) return
    // The path is the API server's: only folders of this agent are deleted.
    if (path.startsWith(`${this.deps.folder}/`)) await rm(path, { recursive: true, force: true })
    await this.deps.kube.request('DELETE', resourcePath(VOLUMES, undefined, metadata.name)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
  }
}

function needsVolume({ metadata, spec = {}, status = {} }: Claim): boolean {
  const isPending = spec.volumeName === undefined && status.phase !== 'Bound'
  return spec.storageClassName === CLASS && isPending && metadata.deletionTimestamp === undefined
}

/** An existing object is a success. */
async function create(kube: Pick<KubeClient, 'request'>, path: string, body: object): Promise<void> {
  try {
    await kube.request('POST', path, { body })
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 409) throw error
  }
}

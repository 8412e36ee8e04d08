// The Pod that a process group should have now. Hashes are computed only when a step reads them.

import { fieldsOf, textOf, type WantedObject } from '../../kit/index.ts'
import { podName } from '../model/process-group-id.ts'
import { podVersion, sidecarImage } from '../resources/images.ts'
import { type ProcessGroup, textsOf } from '../resources/object-metadata.ts'
import { clusterPod, podAnnotations, podLabels, podSpecHash } from '../resources/pod.ts'
import { containerNamed } from '../resources/pod-template.ts'
import { processSettings } from '../resources/process-settings.ts'
import { SIDECAR_CONTAINER } from '../contract.ts'
import type { ClusterContext } from './context.ts'

type Texts = Readonly<Record<string, string>>

export interface ExpectedPod {
  readonly name: string
  readonly labels: Texts
  /** Without the annotations that only a creation sets. */
  readonly annotations: Texts
  /** Of the version in the spec, also while the main container still runs an older version. */
  readonly sidecarImage: string
  readonly configMapHash: string
  readonly nodeSelector: Texts
  /** The requests of a container, such as `{ cpu: '1' }`. */
  requestsOf(container: string): Texts
  specHash(): string
  /** For its creation. */
  object(): WantedObject
}

export function expectedPod(
  { settings, status, specHashes }: Pick<ClusterContext, 'settings' | 'status' | 'specHashes'>,
  group: ProcessGroup,
  { configMapHash, publicAddress }: { readonly configMapHash: string; readonly publicAddress: string | undefined },
): ExpectedPod {
  const input = { settings, group, version: podVersion(settings.version, status.runningVersion, settings.imageType) }
  const { podTemplate } = processSettings(settings.spec, group.processClass)
  const template = containerNamed(fieldsOf(podTemplate['spec'])['containers'], SIDECAR_CONTAINER)
  return {
    name: podName(settings.name, group.processGroupID),
    labels: podLabels(settings, group),
    annotations: { ...podAnnotations(settings) },
    sidecarImage: sidecarImage({
      version: settings.version,
      imageType: settings.imageType,
      container: settings.sidecarContainer,
      templateImage: textOf(template['image']),
    }),
    configMapHash,
    nodeSelector: textsOf(fieldsOf(podTemplate['spec'])['nodeSelector']),
    requestsOf(container) {
      const { containers } = fieldsOf(clusterPod({ ...input, configMapHash, publicIP: publicAddress })['spec'])
      const { requests } = fieldsOf(containerNamed(containers, container)['resources'])
      // The template of a user may have numbers.
      return Object.fromEntries(Object.entries(fieldsOf(requests)).map(([name, value]) => [name, String(value)]))
    },
    specHash() {
      const key = `${input.version} ${group.processGroupID}`
      const hash = specHashes.get(key) ?? podSpecHash(input)
      specHashes.set(key, hash)
      return hash
    },
    object: () => clusterPod({ ...input, configMapHash, publicIP: publicAddress }),
  }
}

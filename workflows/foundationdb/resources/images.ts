// Images of containers. Source: spec/foundationdb.md 4.14.

import type { ContainerSettings, ImageConfig, ImageType } from '../container-schema.ts'
import { isProtocolCompatible } from '../model/version.ts'

const SPLIT_MAIN: ImageConfig = { baseImage: 'foundationdb/foundationdb' }
const SPLIT_SIDECAR: ImageConfig = { baseImage: 'foundationdb/foundationdb-kubernetes-sidecar', tagSuffix: '-1' }
const UNIFIED: ImageConfig = { baseImage: 'foundationdb/fdb-kubernetes-monitor' }

interface ImageInput {
  readonly version: string
  readonly imageType: ImageType
  readonly container: ContainerSettings
  /** The image of the container in the Pod template, without a tag; empty: none. */
  readonly templateImage: string
}

export function mainImage(input: ImageInput): string {
  return image(input, input.imageType === 'unified' ? UNIFIED : SPLIT_MAIN)
}

export function sidecarImage(input: ImageInput): string {
  return image(input, input.imageType === 'unified' ? UNIFIED : SPLIT_SIDECAR)
}

/**
 * The version of the images of new Pods. Pods run the running version until all processes have changed to the desired one;
 * only unified images change at once within one protocol.
 */
export function podVersion(wanted: string, running: string | undefined, imageType: ImageType): string {
  if (running === undefined || running === '') return wanted
  return imageType === 'unified' && isProtocolCompatible(wanted, running) ? wanted : running
}

/** Each part is of the first entry for the version that has it. */
function image(
  { version, container: { imageConfigs = [] }, templateImage }: ImageInput,
  defaults: ImageConfig,
): string {
  const own: readonly ImageConfig[] = templateImage === '' ? [] : [{ baseImage: templateImage }]
  const entries: readonly ImageConfig[] = [...own, ...imageConfigs, defaults].filter(
    (one) => (one.version ?? version) === version,
  )
  const first = (part: 'baseImage' | 'tag' | 'tagSuffix') =>
    entries.find((one) => (one[part] ?? '') !== '')?.[part] ?? ''
  const tag = first('tag')
  return `${first('baseImage')}:${tag === '' ? `${version}${first('tagSuffix')}` : tag}`
}

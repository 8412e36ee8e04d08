// Fields of specs that clusters and backups share: images, containers and blob stores. Wire format: spec/foundationdb.md
// 1.1, 1.5.

import { flag, list, oneOf, record, required, text, type ValueOf } from '../kit/index.ts'

/** A version of FoundationDB, such as 7.1.26 or 7.3.0-rc1. */
export const VERSION_PATTERN = '^[0-9]{1,4}\\.[0-9]{1,4}\\.[0-9]{1,4}(-rc[0-9]{1,3})?$'

const imageConfigField = record('The parts of an image; the first matching entry that sets a part decides.', {
  version: text('The version of FoundationDB for which the entry is used; default: every version.', {
    pattern: VERSION_PATTERN,
  }),
  baseImage: text('The image without a tag, such as foundationdb/foundationdb.', { maxLength: 200 }),
  tag: text('The tag, instead of the version and tagSuffix.', { maxLength: 100 }),
  tagSuffix: text('The text after the version in the tag.', { maxLength: 50 }),
})

export type ImageConfig = ValueOf<typeof imageConfigField>

export const containerField = (description: string) =>
  record(description, {
    enableTls: flag('Whether the container serves TLS.'),
    peerVerificationRules: text('The rules for certificates of clients and other processes.', { maxLength: 10000 }),
    enableLivenessProbe: flag('Whether the container has a liveness probe; default: true for the sidecar.'),
    enableReadinessProbe: flag('Whether the container has a readiness probe; default: false.'),
    imageConfigs: list('The image; later entries complete earlier ones.', imageConfigField, { maxItems: 100 }),
  })

export type ContainerSettings = ValueOf<ReturnType<typeof containerField>>

export const IMAGE_TYPES = ['split', 'unified'] as const
export type ImageType = (typeof IMAGE_TYPES)[number]

export const imageTypeField = oneOf(
  'The images: split has FoundationDB and its sidecar in two images, unified both in one; default: split.',
  IMAGE_TYPES,
)

export const customParametersField = list(
  'Parameters of the process, such as knob_disable_posix_kernel_aio=1.',
  text('name=value', { maxLength: 1000 }),
  { maxItems: 100 },
)

/** The place of a backup. */
export const blobStoreField = record('The blob store with the backup.', {
  accountName: required(
    text('The account and the host of the blob store, such as account@s3.example.com:443.', { maxLength: 100 }),
  ),
  backupName: text('The name of the backup in the bucket; default: the name of the object.', { maxLength: 1024 }),
  bucket: text('The bucket; default: fdb-backups.', { minLength: 3, maxLength: 63 }),
  urlParameters: list('Parameters of the URL, such as secure_connection=0.', text('name=value', { maxLength: 1024 }), {
    maxItems: 100,
  }),
})

export type BlobStore = ValueOf<typeof blobStoreField>

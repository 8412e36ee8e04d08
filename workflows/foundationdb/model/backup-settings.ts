// A backup's spec with aliases resolved and defaults filled in. Source: spec/foundationdb.md 1.5.

import type { BackupSpec } from '../backup/kind.ts'
import type { BlobStore, ContainerSettings, ImageType } from '../container-schema.ts'
import { backupURL } from '../resources/backup-url.ts'

export interface BackupSettings {
  readonly name: string
  readonly version: string
  readonly clusterName: string
  readonly state: 'Running' | 'Stopped' | 'Paused'
  readonly agentCount: number
  readonly snapshotPeriodSeconds: number
  readonly url: string
  readonly tag: string
  readonly type: 'backup_agent' | 'partitioned_log' | 'unmanaged'
  readonly mode: 'continuous' | 'oneTime'
  readonly deletionPolicy: 'noop' | 'stop' | 'cleanup'
  readonly imageType: ImageType
  readonly mainContainer: ContainerSettings
  readonly sidecarContainer: ContainerSettings
  /** The spec, for fields without aliases and defaults. */
  readonly spec: BackupSpec
}

const AGENTS = 2
const SNAPSHOT_SECONDS = 864000

export function backupSettings(name: string, spec: BackupSpec): BackupSettings {
  return {
    name,
    spec,
    version: spec.version,
    clusterName: spec.clusterName,
    url: backupURL(blobStoreOf(spec), name),
    ...statesOf(spec),
    agentCount: spec.agentCount ?? AGENTS,
    snapshotPeriodSeconds: spec.snapshotPeriodSeconds ?? SNAPSHOT_SECONDS,
    tag: spec.tag ?? 'default',
    imageType: spec.imageType ?? 'split',
    mainContainer: spec.mainContainer ?? {},
    sidecarContainer: spec.sidecarContainer ?? {},
  }
}

function statesOf(spec: BackupSpec) {
  const {
    backupState = 'Running',
    backupType = 'backup_agent',
    backupMode = 'continuous',
    deletionPolicy = 'noop',
  } = spec
  return { state: backupState, type: backupType, mode: backupMode, deletionPolicy }
}

function blobStoreOf({ blobStoreConfiguration, accountName = '', backupName, bucket }: BackupSpec): BlobStore {
  return (
    blobStoreConfiguration ?? {
      accountName,
      ...(backupName !== undefined && { backupName }),
      ...(bucket !== undefined && { bucket }),
    }
  )
}

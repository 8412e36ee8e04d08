// Settings of clusters for tests.

import type { ClusterSpec } from '../../../workflows/foundationdb/cluster/kind.ts'
import { type ClusterSettings, clusterSettings } from '../../../workflows/foundationdb/model/cluster-settings.ts'

/** The settings of cluster `db` in namespace `default` with version 7.1.67. */
export function settingsOf(spec: Partial<ClusterSpec> = {}): ClusterSettings {
  return clusterSettings({ metadata: { name: 'db', namespace: 'default' }, spec: { version: '7.1.67', ...spec } })
}

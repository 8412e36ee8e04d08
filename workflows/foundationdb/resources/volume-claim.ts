// The PersistentVolumeClaim of a process group. Source: spec/foundationdb.md 1.4, 2.10.

import { fieldsOf, type JsonFields, type WantedObject } from '../../kit/index.ts'
import { LAST_SPEC_ANNOTATION } from '../contract.ts'
import type { ClusterSettings } from '../model/cluster-settings.ts'
import { volumeClaimName } from '../model/process-group-id.ts'
import { type ProcessGroup, processGroupLabels, specHash, textsOf } from './object-metadata.ts'
import { processSettings } from './process-settings.ts'

const DEFAULT_STORAGE = '128G'

export function volumeClaim(settings: ClusterSettings, group: ProcessGroup): WantedObject {
  const { volumeClaimTemplate } = processSettings(settings.spec, group.processClass)
  const { labels, annotations } = fieldsOf(volumeClaimTemplate['metadata'])
  const spec = claimSpec(fieldsOf(volumeClaimTemplate['spec']))
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: volumeClaimName(settings.name, group.processGroupID),
      labels: { ...textsOf(labels), ...processGroupLabels(settings, group) },
      annotations: { ...textsOf(annotations), [LAST_SPEC_ANNOTATION]: specHash(spec) },
    },
    spec,
  }
}

/** The hash of the desired claim; an existing claim with another one belongs to a process group to replace. */
export function volumeClaimHash(settings: ClusterSettings, processClass: string): string {
  const { volumeClaimTemplate } = processSettings(settings.spec, processClass)
  return specHash(claimSpec(fieldsOf(volumeClaimTemplate['spec'])))
}

function claimSpec(template: JsonFields): JsonFields {
  const resources = fieldsOf(template['resources'])
  return {
    ...template,
    accessModes: template['accessModes'] ?? ['ReadWriteOnce'],
    resources: { ...resources, requests: { storage: DEFAULT_STORAGE, ...fieldsOf(resources['requests']) } },
  }
}

// Builds the objects of sub-installations from the parent's blueprint. Source: spec/landscaper.md 1.13, 1.15, 2.5.

import { writeJson } from '../../../workflows/kit/index.ts'
import {
  CACHE_HELM_CHARTS_ANNOTATION,
  ENCOMPASSED_BY_LABEL,
  FINALIZER,
  PATH_ANNOTATION,
  SUBINSTALLATION_NAME_ANNOTATION,
} from '../../../workflows/landscaper/contract.ts'
import { createHash } from 'node:crypto'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { KubeObject } from '../../kube/client.ts'
import { mergePatch, type Patch } from '../../kube/merge-patch.ts'
import { ownerReference } from '../../kube/owners.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-templates.ts'
import { pathBelow } from './parent.ts'
import { componentOf } from './spec.ts'

const SUFFIX_LENGTH = 5

/** The template of a sub-installation; undefined for other objects. */
export function templateOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[SUBINSTALLATION_NAME_ANNOTATION]
}

/** The inputs of a name; each attempt gives another name, for when objects of other owners have the previous ones. */
export interface Naming {
  readonly jobID: string
  /** Starts at 0. */
  readonly attempt: number
}

/** Deterministic in a job, and different in another job. Source: docs/concepts/architecture.md "Created names". */
export function subInstallationName({ metadata }: Installation, template: string, { jobID, attempt }: Naming): string {
  const hash = createHash('sha256')
    .update(writeJson([metadata.uid, template, jobID, ...(attempt === 0 ? [] : [attempt])]))
    .digest('hex')
  return `${template}-${hash.slice(0, SUFFIX_LENGTH)}`
}

/** The whole object to create. */
export function newSubInstallation(
  parent: Installation,
  template: SubinstallationTemplate,
  naming: Naming,
): KubeObject {
  const { labels, annotations, spec } = desired(parent, template)
  return {
    apiVersion: installationKind.apiVersion,
    kind: installationKind.kind,
    metadata: {
      name: subInstallationName(parent, template.name, naming),
      namespace: parent.metadata.namespace,
      labels,
      annotations,
      finalizers: [FINALIZER],
      ownerReferences: [ownerReference(installationKind, parent.metadata)],
    },
    spec,
  }
}

/**
 * The difference to the desired object; undefined without difference. Labels and annotations of others are removed, including the request for the
 * previous job.
 */
export function subInstallationPatch(
  parent: Installation,
  template: SubinstallationTemplate,
  { metadata, spec: found }: Installation,
): Patch | undefined {
  const wanted = desired(parent, template)
  const labels = mergePatch(metadata.labels ?? {}, wanted.labels)
  const annotations = mergePatch(metadata.annotations ?? {}, wanted.annotations)
  const { finalizers = [] } = metadata
  const isGuarded = finalizers.includes(FINALIZER)
  const spec = mergePatch(found, wanted.spec)
  if (labels === undefined && annotations === undefined && spec === undefined && isGuarded) return undefined
  return {
    metadata: {
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(!isGuarded && { finalizers: [...finalizers, FINALIZER] }),
    },
    ...(spec !== undefined && { spec }),
  }
}

function desired({ metadata, spec }: Installation, template: SubinstallationTemplate) {
  const { name, blueprint, imports, exports, importDataMappings, exportDataMappings, optimization } = template
  const componentDescriptor = template.componentDescriptor ?? componentOf(spec)
  const cached = metadata.annotations?.[CACHE_HELM_CHARTS_ANNOTATION]
  return {
    labels: { [ENCOMPASSED_BY_LABEL]: metadata.name },
    annotations: {
      [SUBINSTALLATION_NAME_ANNOTATION]: name,
      [PATH_ANNOTATION]: pathBelow({ metadata }, name),
      ...(cached !== undefined && { [CACHE_HELM_CHARTS_ANNOTATION]: cached }),
    },
    spec: {
      context: spec.context ?? 'default',
      ...(spec.verification !== undefined && { verification: spec.verification }),
      ...(componentDescriptor !== undefined && { componentDescriptor }),
      blueprint,
      imports,
      exports,
      ...(importDataMappings !== undefined && { importDataMappings }),
      ...(exportDataMappings !== undefined && { exportDataMappings }),
      ...(optimization !== undefined && { optimization }),
    },
  }
}

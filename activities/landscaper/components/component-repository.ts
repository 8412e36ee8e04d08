// The interface of component repositories: local folders, archives and OCI registries.

import type { BlueprintFiles } from '../render/blueprint/blueprint-files.ts'
import type { Component } from '../render/blueprint/component-descriptor.ts'
import type { ResolvedResource, ResourceContent } from '../render/blueprint/component-scope.ts'

export interface FoundComponent {
  readonly component: Component
  /** The folder with the component's blobs, for a repository of folders; undefined: the repository's own blobs, or another kind of repository. */
  readonly folder: string | undefined
}

export interface ComponentRepository {
  /**
   * @param place of the reference, for messages.
   * @throws BlueprintError `ComponentNotFound`, or for an invalid descriptor; retryable failures of the network.
   */
  find(name: string, version: string, place: string): Promise<FoundComponent>
  /**
   * Reads the content of a resource that is stored with its component.
   *
   * @param folder from the result of `find`.
   * @throws as `find`.
   */
  localContentOf(found: ResolvedResource, folder: string | undefined): Promise<ResourceContent>
}

/** Parsers for descriptors, see bounded/tenant-data.ts. */
export interface ComponentData {
  /** @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
  /** @throws BlueprintError whose message continues "NAME: " */
  archive(packed: Buffer): Promise<BlueprintFiles>
}

/** The maximum size of an object, which may contain a descriptor. */
export const MAX_DESCRIPTOR_BYTES = 1536 * 1024
/** Limit for all descriptors of one resolution. */
export const MAX_DESCRIPTORS_BYTES = 32 * 1024 * 1024

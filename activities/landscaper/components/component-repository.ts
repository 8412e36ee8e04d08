// What a repository of components is, wherever it lies.

import type { BlueprintFiles } from '../render/blueprint/blueprint-files.ts'
import type { Component } from '../render/blueprint/component-descriptor.ts'
import type { ResolvedResource, ResourceContent } from '../render/blueprint/component-scope.ts'

export interface FoundComponent {
  readonly component: Component
  /** Where its blobs lie in a repository of folders; undefined: with the repository's own, or it is no folder. */
  readonly folder: string | undefined
}

export interface ComponentRepository {
  /**
   * @param place that asks for it, for messages.
   * @throws BlueprintError `ComponentNotFound`, or what is wrong with what was found; retryable failures where it is asked over a network.
   */
  find(name: string, version: string, place: string): Promise<FoundComponent>
  /**
   * The content of a resource that lies with its component.
   *
   * @param folder as it was found with the component.
   * @throws as `find`.
   */
  localContentOf(found: ResolvedResource, folder: string | undefined): Promise<ResourceContent>
}

/** How descriptors are read: see bounded/tenant-data.ts. */
export interface ComponentData {
  /** @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
  /** @throws BlueprintError in words that go on "NAME: " */
  archive(packed: Buffer): Promise<BlueprintFiles>
}

/** As large as an object may be, which holds such a descriptor in place. */
export const MAX_DESCRIPTOR_BYTES = 1536 * 1024
/** Of one resolution. */
export const MAX_DESCRIPTORS_BYTES = 32 * 1024 * 1024

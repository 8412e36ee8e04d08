// ComponentVersionOverwrites: replaces component references. Wire format: spec/landscaper.md 1.8.

import { anyJson, defineKind, list, type ObjectOf, record, required, text } from '../../kit/index.ts'

const componentReference = (description: string) =>
  record(description, {
    repositoryContext: anyJson('The repository of the component.'),
    componentName: text('Name of the component.'),
    version: text('Version of the component.'),
  })

export const componentVersionOverwritesKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'ComponentVersionOverwrites',
  plural: 'componentversionoverwrites',
  singular: 'componentversionoverwrite',
  shortNames: ['compveroverwrite', 'cvo'],
  statusSubresource: false,
  printerColumns: [],
  description: 'ComponentVersionOverwrites replace component references, in the order of the list.',
  schema: {
    overwrites: list(
      'The replacements.',
      record('One replacement.', {
        source: required(componentReference('The references to replace; an absent field matches anything.')),
        substitution: required(componentReference('The replacement; an absent field stays unchanged.')),
      }),
    ),
  },
  projection: [],
  // The objects that the Context of an Installation names.
  workerVerbs: ['get'],
})

export type ComponentVersionOverwrites = ObjectOf<typeof componentVersionOverwritesKind>

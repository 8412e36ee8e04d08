// The rows of the import table for the programs, commands and pods of wings: their generated lists, their declarations,
// and the modules that implement them. import-table.ts contains these rows before its general rows for wings.

import { ANY, DEPS, KIT, NONE, type Row, WING } from './import-row.ts'

export const WING_PROGRAM_ROWS: readonly Row[] = [
  {
    sentence: "the list of programs imports each wing's own list",
    of: /^activities\/programs\.gen\.ts$/,
    may: ['^activities/(?:program|[^/]+/programs)\\.ts$'],
    packages: NONE,
  },
  {
    sentence: "the list of commands imports each wing's own list",
    of: /^activities\/commands\.gen\.ts$/,
    may: ['^activities/(?:command|[^/]+/commands)\\.ts$'],
    packages: NONE,
  },
  {
    sentence: "the list of pods imports each wing's own declaration",
    of: /^activities\/pods\.gen\.ts$/,
    may: ['^activities/(?:pods|[^/]+/pods)\\.ts$'],
    packages: NONE,
  },
  {
    sentence:
      "a wing's declaration of its pods imports the wing's names and the pods' flags, and the pods' processes only by import()",
    of: /^activities\/([^/]+)\/pods\.ts$/,
    may: ['^activities/(?:pods|$1/pods/flags)\\.ts$', KIT, WING],
    mayCall: ['^activities/$1/[^/]+/[^/]+\\.ts$'],
    packages: NONE,
  },
  {
    sentence:
      "a wing's lists of programs and commands import the interfaces of programs and commands, and the implementations only by import()",
    of: /^activities\/([^/]+)\/(?:programs|commands)\.ts$/,
    may: ['^activities/(?:program|command)\\.ts$'],
    mayCall: ['^activities/$1/[^/]+/[^/]+\\.ts$'],
    packages: NONE,
  },
  {
    sentence:
      "an injector imports itself, its plan, the interface of programs, the wing's top-level modules and the engine",
    of: /^activities\/([^/]+)\/injector\//,
    may: [
      ...['^activities/$1/(?:injector/|[^/]+\\.ts$)', '^workflows/$1/injector/'],
      ...['^activities/(?:(?:run|kube|journal)/|program\\.ts$)', DEPS, KIT, WING],
    ],
    packages: ANY,
  },
  {
    sentence:
      "the processes of a wing's pods import the wing's activities, the pods' pure rules, the interface of pods and the engine",
    of: /^activities\/([^/]+)\/pods\//,
    may: [
      ...['^activities/$1/', '^workflows/$1/pods/'],
      ...['^activities/(?:(?:run|kube|journal|yaml)/|pods\\.ts$)', DEPS, KIT, WING],
    ],
    packages: ANY,
  },
  {
    sentence: "a wing's commands import the wing's activities, the interface of commands and kube",
    of: /^activities\/([^/]+)\/command\//,
    may: ['^activities/$1/', '^activities/(?:kube/|command\\.ts$)', KIT, WING],
    packages: ANY,
  },
]

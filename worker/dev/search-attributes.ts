// The search attributes by which people find Pawl's workflows. All are of type Keyword: exact values.

export const SEARCH_ATTRIBUTES = [
  'PawlKind',
  'PawlNamespace',
  'PawlName',
  'PawlUid',
  'PawlJobId',
  'PawlRootJobId',
  'PawlOutcome',
] as const

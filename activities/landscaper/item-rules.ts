// The item rules of the wing, for activities: admission applies the same rules before an object is stored.

export {
  countProblem,
  EXECUTION_NAME_LIMIT,
  itemProblems,
  MAX_ITEMS as MOST_ITEMS,
  ownerNameProblem,
  shownName,
  shownNames,
} from '../../workflows/landscaper/item-rules.ts'

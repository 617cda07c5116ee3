import { POSTGRES_FAULTS } from '../../../support/faults/faults.ts';
import { tryFaults } from '../../../support/faults/try-faults.ts';

await tryFaults(POSTGRES_FAULTS);

import { afterAll } from 'bun:test';
import { stopTestServer } from './database/database.ts';

afterAll(stopTestServer);

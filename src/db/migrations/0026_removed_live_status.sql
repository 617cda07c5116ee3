ALTER TABLE "live_status_messages" DROP CONSTRAINT "live_status_messages_server_id_servers_id_fk";
